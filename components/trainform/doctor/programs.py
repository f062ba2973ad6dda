"""Runs programs with limits of time and output, and leaves none of their processes behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainform.errors import TrainformError

MAX_OUTPUT = 100_000  # bytes


def run_program(command: Sequence[str], seconds: float, environ: Mapping[str, str] | None = None) -> str:
    """Return the standard output of a command. Raises `TrainformError` if it fails or takes too long, `OSError` if it cannot be started."""
    name = Path(command[0]).name
    process = subprocess.Popen(
        [Path(command[0]).absolute(), *command[1:]],
        env=None if environ is None else {**os.environ, **environ},
        cwd="/",  # the output must not depend on the project: Go reads a go.mod there
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that its child processes can be killed with it
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    with process:
        answer = b"" if process.stdout is None else process.stdout.read(MAX_OUTPUT)
        if len(answer) == MAX_OUTPUT:
            _kill(process)
    timer.cancel()
    if late.is_set():
        raise TrainformError(f"{name} does not answer within {seconds:g} s", f"run `{command[0]}` by hand to see why")
    if process.returncode != 0:
        raise TrainformError(
            f"`{' '.join([name, *command[1:]])}` ends with exit code {process.returncode}",
            f"run `{' '.join(command)}` to see why",
        )
    return answer.decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
