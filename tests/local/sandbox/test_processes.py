"""Processes are started, recorded and stopped by id and start time; `sleep` is the component."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest
from msgspec import structs

from tests.local.sandbox.conftest import until
from trainform.local.sandbox.processes import Command, Process, is_running, launch, stop, tail

SHELL = Path("/bin/sh")
ENVIRONMENT = {"PATH": os.defpath}


def _sleep(folder: Path, script: str = "exec sleep 300") -> Process:
    command = Command("sleeper", SHELL, ["-c", script], folder / "sleeper.log")
    return launch([command], ENVIRONMENT, lambda started: None)[0]


def test_a_command_has_the_environment_of_all_and_its_own(tmp_path: Path) -> None:
    script = ["-c", 'echo "$SHARED $OWN"']
    rows = [
        Command("plain", SHELL, script, tmp_path / "plain.log"),
        Command("special", SHELL, script, tmp_path / "special.log", {"OWN": "mine", "SHARED": "other"}),
    ]
    started = launch(rows, {**ENVIRONMENT, "SHARED": "ours"}, lambda started: None)
    until(lambda: not any(map(is_running, started)))
    assert [tail(row.log) for row in rows] == [["ours "], ["other mine"]]


def test_stop_kills_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    process = _sleep(tmp_path, "trap '' TERM; echo deaf; while :; do sleep 0.05; done")
    until(lambda: tail(Path(process.log)) == ["deaf"])
    stop([process], grace=0.3)
    assert not is_running(process)


@pytest.mark.parametrize(
    "changed",
    [{"started": time.time() - 86_400}, {"binary": "/usr/sbin/sshd"}],
    ids=["another start time", "another program"],
)
def test_another_process_with_the_recorded_id_is_not_stopped(tmp_path: Path, changed: dict[str, float | str]) -> None:
    process = _sleep(tmp_path, "while :; do sleep 0.05; done")
    until(lambda: len(psutil.Process(process.pid).cmdline()) == 3)
    try:
        other = structs.replace(process, **changed)
        assert not is_running(other)
        stop([other], grace=0.2)
        assert is_running(process)
    finally:
        stop([process])


def test_a_process_has_its_own_session_and_the_previous_log_is_kept(tmp_path: Path) -> None:
    (tmp_path / "sleeper.log").write_text("why it crashed\n")
    process = _sleep(tmp_path)
    try:
        assert os.getsid(process.pid) == process.pid
        assert tail(tmp_path / "sleeper.previous.log") == ["why it crashed"]
    finally:
        stop([process])


def test_a_process_runs_before_the_kernel_has_given_it_its_own_command_line(tmp_path: Path) -> None:
    """On several processors a new process has, for a moment, the command line of the one that starts it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(reader, 1)
        os._exit(0)
    started = Process("starts", pid, psutil.Process(pid).create_time(), "/usr/bin/sleep", str(tmp_path / "log"))
    assert is_running(started)
    os.write(writer, b"x")
    until(lambda: not is_running(started))
    os.close(reader)
    os.close(writer)
