"""Asking a program: whatever it does, the answer is short and in time, and nothing of it runs on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainform.errors import TrainformError

LONGEST_ANSWER = 100_000  # bytes; a version is short


def ask(command: Sequence[str], seconds: float, environ: Mapping[str, str] | None = None) -> str:
    """What it prints on its standard output. `TrainformError` where it fails, or says nothing in time; `OSError` where it is no program."""
    name = Path(command[0]).name
    process = subprocess.Popen(
        [Path(command[0]).absolute(), *command[1:]],
        env=None if environ is None else {**os.environ, **environ},
        cwd="/",  # what a program says of itself must not depend on the project: Go reads a go.mod there
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what it starts is of its group, and ends with it
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    with process:
        answer = b"" if process.stdout is None else process.stdout.read(LONGEST_ANSWER)
        if len(answer) == LONGEST_ANSWER:
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
