"""Long commands: their output goes to a log, they are stopped with trainform, and errors have a fix."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trainform.console.signals import exit_on_termination, signals_delayed
from trainform.errors import ToolchainError

POLL_SECONDS = 0.25
GRACE_SECONDS = 5.0
TAIL_LINES = 15
BUILD_GB = 12
NETWORK = "the network cannot be reached: check it and the proxy settings (GOPROXY, HTTPS_PROXY, pip's index)"
# Text in the log -> fix; the first text that is found is used.
FIXES = (
    (
        "no space left on device",
        f"free some disk: modules, compiler cache and result need {BUILD_GB} GB; then run the same command again",
    ),
    (
        "signal: killed",
        (
            "the system stopped the compiler, most likely since memory was short: it needs about 1 GB for each core; "
            "close programs, or set GOFLAGS=-p=1"
        ),
    ),
    *((sign, NETWORK) for sign in ("no such host", "i/o timeout", "connection refused")),
    ("No module named pip", f"install Go, or run `{sys.executable} -m ensurepip`"),
    ("checksum mismatch", "a module differs from its pin: run `go clean -modcache`, then the same command again"),
    ("has been modified", "the module cache was changed: run `go clean -modcache`, then the same command again"),
)


def run_logged(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path,
    watch: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Run a command in `folder`, and pass each line to `watch`. `ToolchainError` with the last lines if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output, log.open(errors="replace") as lines, exit_on_termination():
        start = output.seek(0, os.SEEK_END)
        lines.seek(start)
        process: subprocess.Popen[bytes] | None = None
        try:
            with signals_delayed():
                # Its own session: Ctrl-C is sent to trainform only, which then stops the whole process group.
                process = subprocess.Popen(
                    command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True,
                )  # fmt: skip
            incomplete = ""
            while process.poll() is None:
                incomplete = _pass_on(incomplete + lines.read(), watch)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
            _pass_on(f"{incomplete}{lines.read()}\n", watch)
        except BaseException:
            if process is not None:
                _end(process)
            raise
    if process.returncode != 0:
        raise _failure(command, log, start)


def _pass_on(text: str, watch: Callable[[str], None] | None) -> str:
    """Call `watch` with each complete line of the text; return the incomplete last line."""
    *lines, incomplete = text.split("\n")
    if watch is not None:
        for line in filter(None, lines):
            watch(line)
    return incomplete


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)


def _failure(command: Sequence[str], log: Path, start: int) -> ToolchainError:
    with log.open("rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    fix = next(
        (text_fix for sign, text_fix in FIXES if sign in text),
        f"read the whole log, {log}; then run the same command again",
    )
    return ToolchainError(f"`{' '.join(command[:3])} …` failed; its last lines:", fix, text.splitlines()[-TAIL_LINES:])
