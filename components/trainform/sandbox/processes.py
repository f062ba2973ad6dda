"""Processes that outlive the command that started them, and that are ended by id and start time, never by name.

A process is recorded before it runs: the child waits in a shell for one line, and goes on as the component (same id, same
start time) only after its record is on the disk. So whatever kills `up`, nothing runs that `down` does not know.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from trainform.errors import SandboxError

GATE = 'read -r _ || exit 1; exec "$@" </dev/null'
# A step of the system's clock moves the start time that the kernel's counter is converted to.
CLOCK_SLACK = 5.0
KILL_SECONDS = 30.0
POLL_SECONDS = 0.02
TAIL_LINES = 15


@dataclasses.dataclass(frozen=True)
class Command:
    """What to run, and where its output goes. `environment` is added to that of all."""

    name: str
    binary: Path
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Process:
    """One started component, as `state.json` keeps it."""

    name: str
    pid: int
    started: float
    binary: str
    log: str


def launch(
    commands: Iterable[Command], environment: Mapping[str, str], record: Callable[[list[Process]], None]
) -> list[Process]:
    """Start all commands, each in its own session; `record` stores them before the first one runs."""
    gates: list[int] = []
    started: list[Process] = []
    try:
        for command in commands:
            process, gate = _spawn(command, environment)
            started.append(process)
            gates.append(gate)
        record(started)
        for gate in gates:
            os.write(gate, b"\n")
    finally:
        for gate in gates:
            os.close(gate)
    return started


def _spawn(command: Command, environment: Mapping[str, str]) -> tuple[Process, int]:
    if command.log.exists():
        command.log.replace(command.log.with_suffix(".previous.log"))
    shell = shutil.which("sh", path=os.defpath)
    if shell is None:
        raise SandboxError("there is no `sh` on this system", "install a POSIX shell")
    reader, writer = os.pipe()
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        pid = os.posix_spawn(
            shell,
            [shell, "-c", GATE, command.name, str(command.binary), *command.arguments],
            {**environment, **command.environment},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reader, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(command.log), log_flags, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    born = psutil.Process(pid).create_time()
    return Process(command.name, pid, born, str(command.binary), str(command.log)), writer


def is_running(process: Process) -> bool:
    """Whether this very process, and not a later one with its number, is alive."""
    return _find(process) is not None


def _find(process: Process) -> psutil.Process | None:
    # Where the caller that started it is still alive, the dead child must be collected first.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    try:
        found = psutil.Process(process.pid)
        with found.oneshot():
            words = found.cmdline()
            same = (
                found.status() != psutil.STATUS_ZOMBIE
                and abs(found.create_time() - process.started) < CLOCK_SLACK
                # No words: the kernel is just replacing the waiting shell by the component.
                and (not words or process.binary in words)
            )
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return found if same else None


def stop(processes: Iterable[Process], grace: float = 5.0) -> None:
    """End these processes and nothing else: TERM, and KILL for those that still run after `grace` seconds.

    SandboxError where one survives even that for KILL_SECONDS: the kernel does not let go of it."""
    remaining = list(processes)
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_SECONDS)):
        for process in remaining:
            _send(process, number)
        end = time.monotonic() + seconds
        while (remaining := [process for process in remaining if is_running(process)]) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        if not remaining:
            return
    names = ", ".join(f"{process.name} ({process.pid})" for process in remaining)
    raise SandboxError(
        f"these processes do not end: {names}", "look at them with `ps`; then run `trainform sandbox down` again"
    )


def _send(process: Process, number: signal.Signals) -> None:
    found = _find(process)
    if found is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.send_signal(number)


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a log."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-lines:]
