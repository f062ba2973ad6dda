"""Processes that outlive the command that started them. They are stopped by id and start time, never by name."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil
from msgspec import Struct

from trainform.console.signals import signals_delayed
from trainform.errors import SandboxError

# Seconds. A correction of the system's clock shifts the start time that is computed for a process.
CLOCK_SLACK = 5.0
KILL_SECONDS = 30.0
POLL_SECONDS = 0.02
TAIL_LINES = 15


class Command(Struct, frozen=True):
    """A program to start and the file for its output. `environment` is added to the environment of all commands."""

    name: str
    binary: Path
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = {}


class Process(Struct, frozen=True):
    """One started component, as it is recorded in `state.json`."""

    name: str
    pid: int
    started: float
    binary: str
    log: str


def launch(
    commands: Iterable[Command], environment: Mapping[str, str], record: Callable[[list[Process]], None]
) -> list[Process]:
    """Start all commands, each in its own session; `record` is called with the processes so far after each start."""
    started: list[Process] = []
    for command in commands:
        with signals_delayed():
            started.append(_spawn(command, environment))
            record(started)
    return started


def _spawn(command: Command, environment: Mapping[str, str]) -> Process:
    if command.log.exists():
        command.log.replace(command.log.with_suffix(".previous.log"))
    pid = os.posix_spawn(
        command.binary,
        [str(command.binary), *command.arguments],
        {**environment, **command.environment},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(command.log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return Process(command.name, pid, psutil.Process(pid).create_time(), str(command.binary), str(command.log))


def is_running(process: Process) -> bool:
    """Return True if this process runs; False if it has ended, also if another process has its id now."""
    return _find(process) is not None


def _find(process: Process) -> psutil.Process | None:
    # A child of this process that has ended stays a zombie until it is waited for.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    try:
        found = psutil.Process(process.pid)
        with found.oneshot():
            command_line = found.cmdline()
            same = (
                found.status() != psutil.STATUS_ZOMBIE
                and abs(found.create_time() - process.started) < CLOCK_SLACK
                # At the moment in which the kernel starts the program, it is that of this process, then empty.
                and (process.binary in command_line or command_line in ([], psutil.Process().cmdline()))
            )
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return found if same else None


def unrecorded(logs: Path, recorded: Iterable[Process]) -> list[Process]:
    """Return the running processes that write to logs of this folder, other than these. They were started by an `up`
    that was killed before it could record them, or their record is damaged. Only Linux lists them."""
    known, user, found = {process.pid for process in recorded}, os.getuid(), list[Process]()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, psutil.Error, IndexError):
            log = (entry / "fd" / "1").readlink()
            if log.parent != logs.resolve() or int(entry.name) in known or entry.stat().st_uid != user:
                continue
            process = psutil.Process(int(entry.name))
            found.append(Process(log.stem, process.pid, process.create_time(), process.cmdline()[0], str(log)))
    return found


def stop(processes: Iterable[Process], grace: float = 5.0) -> None:
    """Stop these processes: SIGTERM, and after `grace` seconds SIGKILL for those that still run.

    Raises `SandboxError` if one still runs KILL_SECONDS after SIGKILL: the kernel cannot end it.
    """
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
        f"these processes cannot be stopped: {names}", "look at them with `ps`; then run `trainform sandbox down` again"
    )


def _send(process: Process, number: signal.Signals) -> None:
    found = _find(process)
    if found is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.send_signal(number)


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log; none if it does not exist."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-lines:]
