"""Running a long command: its output goes to a log, it ends with us, and its failure says what to do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from trainform.errors import ToolchainError
from trainform.signals import handled

POLL_SECONDS = 0.25
GRACE_SECONDS = 5.0
TAIL_LINES = 15
BUILD_GB = 12
# What ends a program: `timeout` and CI systems send TERM, a closed window or a lost connection HUP.
ENDING = (signal.SIGTERM, signal.SIGHUP)
# What the log says -> what to do; the first that is found counts.
REMEDIES = (
    (
        "no space left on device",
        f"free some disk: modules, compiler cache and result need {BUILD_GB} GB; then run the same command again",
    ),
    (
        "signal: killed",
        "the system ended the compiler, most likely for memory: it takes about 1 GB for each core; close programs, or set GOFLAGS=-p=1",
    ),
    ("no such host", "the network is not reached: check it and the proxy settings (GOPROXY, HTTPS_PROXY, pip's index)"),
    ("i/o timeout", "the network is not reached: check it and the proxy settings (GOPROXY, HTTPS_PROXY, pip's index)"),
    (
        "connection refused",
        "the network is not reached: check it and the proxy settings (GOPROXY, HTTPS_PROXY, pip's index)",
    ),
    ("checksum mismatch", "a module differs from its pin: run `go clean -modcache`, then the same command again"),
    ("has been modified", "the module cache was changed: run `go clean -modcache`, then the same command again"),
)


def run_logged(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path,
    watch: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Run it in `folder`; `watch` gets each new line of output. `ToolchainError` with the last lines if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output, log.open(errors="replace") as lines, _terminable():
        start = output.seek(0, os.SEEK_END)
        lines.seek(start)
        process: subprocess.Popen[bytes] | None = None
        try:
            with _held():
                # Its own session: Ctrl-C reaches only us, and we end the whole group.
                process = subprocess.Popen(
                    command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True,
                )  # fmt: skip
            begun = ""
            while process.poll() is None:
                begun = _pass_on(begun + lines.read(), watch)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
            _pass_on(f"{begun}{lines.read()}\n", watch)
        except BaseException:
            if process is not None:
                _end(process)
            raise
    if process.returncode != 0:
        raise _failure(command, log, start)


def _pass_on(text: str, watch: Callable[[str], None] | None) -> str:
    """The lines that are complete; returns what has only begun."""
    *lines, begun = text.split("\n")
    if watch is not None:
        for line in filter(None, lines):
            watch(line)
    return begun


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """What ends a program unwinds it like Ctrl-C, so that the compiler does not go on without us."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with handled(ENDING, unwind):
        yield


@contextlib.contextmanager
def _held() -> Iterator[None]:
    """Ctrl-C and the others wait for the end of the block: in the middle of starting a process they would leave one that nobody knows."""
    early: list[int] = []
    with handled([signal.SIGINT, *ENDING], lambda number, frame: early.append(number)):
        yield
    if early:
        signal.raise_signal(early[0])


def _failure(command: Sequence[str], log: Path, start: int) -> ToolchainError:
    with log.open("rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    remedy = next(
        (advice for sign, advice in REMEDIES if sign in text),
        f"the whole log is {log}; then run the same command again",
    )
    return ToolchainError(
        f"`{' '.join(command[:3])} …` failed; its last lines:", remedy, text.splitlines()[-TAIL_LINES:]
    )
