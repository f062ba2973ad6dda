"""Programs that answer, fail, hang, or never stop talking."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from trainform.doctor.programs import MAX_OUTPUT, run_program
from trainform.errors import TrainformError

MANY = 60.0  # seconds: more than any test waits
FEW = 0.3


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The path of a shell script that a test writes."""
    return tmp_path / "tool"


def script(path: Path, *lines: str) -> str:
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return str(path)


def test_what_it_prints(program: Path) -> None:
    assert run_program([script(program, 'echo "v1.2.3 $1 $WHO"; echo aside >&2'), "version"], MANY, {"WHO": "me"}) == (
        "v1.2.3 version me\n"
    )


def test_it_reads_nothing(program: Path) -> None:
    """A program that asks for a password gets none."""
    assert run_program([script(program, "read line; echo got $line")], MANY) == "got\n"


def test_a_path_may_be_relative(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(program, "pwd")
    monkeypatch.chdir(program.parent)
    assert run_program(["./tool"], MANY) == "/\n"


def test_a_failure_names_the_command(program: Path) -> None:
    with pytest.raises(TrainformError, match=r"`tool version --client` ends with exit code 3") as caught:
        run_program([script(program, "exit 3"), "version", "--client"], MANY)
    assert caught.value.fix == f"run `{program} version --client` to see why"


def test_no_program(program: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_program([str(program)], MANY)
    program.write_bytes(b"\x7fELF of another machine")
    program.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error"):
        run_program([str(program)], MANY)


def test_one_that_hangs_is_ended_with_what_it_started(program: Path, tmp_path: Path) -> None:
    """The shell's child holds the pipe: ending the shell alone would leave us waiting for it."""
    ids = tmp_path / "ids"
    with pytest.raises(TrainformError, match=r"tool does not answer within 3 s"):  # time enough to write the ids
        run_program([script(program, f"sleep 300 & echo $$ $! > {ids}", "wait")], 3)
    numbers = [int(number) for number in ids.read_text().split()]
    assert len(numbers) == 2
    deadline = time.monotonic() + 60  # a signal that was sent takes effect when the system comes to it
    while any(map(running, numbers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, numbers))


def running(number: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_one_that_never_stops_talking(program: Path) -> None:
    with pytest.raises(TrainformError, match="ends with exit code -9"):
        run_program([script(program, "exec yes")], MANY)


def test_bytes_that_are_no_text(program: Path) -> None:
    assert run_program([script(program, r"printf '\377v1'")], MANY) == "�v1"
    assert MAX_OUTPUT > 10_000
