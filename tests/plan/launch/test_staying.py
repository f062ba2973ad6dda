"""stay.sh, the script of pods whose success must not be counted, in each shell of training images."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import run
from tests.support.samples import plan

TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}},
    "network": {"host": True, "ports": "per-replica"},
}
STAY = plan(**TENSORFLOW).files["stay.sh"]
STAYS = "trainform: done; waiting for the end of the job\n"
HEARS = "trap 'echo heard; exit {code}' TERM; echo ready; while :; do sleep 0.05; done"
SAVES = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"heard\\n"))
os.write(1, b"ready\\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
sys.exit(4)
"""
LAST = 60.0  # seconds until a test gives up

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts the script in a session of its own. All of its processes end with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(shell: Path, *words: str) -> subprocess.Popen[str]:
        command = [str(shell), "-c", STAY, "stay.sh", *words]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        _end_all(process)
        process.communicate(timeout=LAST)


def _end_all(process: subprocess.Popen[str]) -> None:
    """As the container ends with its first process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of the script; its exit code and its standard output."""
    process.wait(timeout=LAST)
    _end_all(process)
    output, _ = process.communicate(timeout=LAST)
    return process.returncode, output


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("exit 143", 143)])
def test_a_failure_passes(command: str, code: int, shell: Path) -> None:
    assert run(shell, STAY, "sh", "-c", command, env={}).returncode == code


def test_the_command_gets_arguments_and_variables_unchanged(shell: Path) -> None:
    words = ('printf \'[%s]\' "$RANK" "$@"; exit 3', "name", "two words", "", "$HOME", "*")
    done = run(shell, STAY, "sh", "-c", *words, env={"RANK": "1"})
    assert (done.returncode, done.stdout) == (3, "[1][two words][][$HOME][*]")


# what may end a container: an image says which by STOPSIGNAL
SIGNALS = pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])


@SIGNALS
def test_after_a_success_it_stays_until_it_is_asked_to_end(asked: signal.Signals, shell: Path, start: Start) -> None:
    """And is then no success."""
    process = start(shell, "echo", "trained")
    assert process.stderr is not None
    assert process.stderr.readline() == STAYS
    assert process.poll() is None
    process.send_signal(asked)
    assert ended(process) == (143, "trained\n")


@SIGNALS
@pytest.mark.parametrize(("code", "expected"), [(5, 5), (0, 143)])
def test_the_command_gets_the_signal_that_ends_the_pod(
    code: int, expected: int, asked: signal.Signals, shell: Path, start: Start
) -> None:
    """A success after a request to end is not counted either."""
    process = start(shell, "sh", "-c", HEARS.format(code=code))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(asked)
    assert ended(process) == (expected, "heard\n")


def test_it_waits_for_processes_that_end_late(shell: Path, start: Start, tmp_path: Path) -> None:
    """A signal ends the shell's `wait`, not what it waits for."""
    saved = tmp_path / "saved"
    process = start(shell, sys.executable, "-IS", "-c", SAVES, str(saved))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "heard\n"
    assert process.poll() is None
    saved.touch()
    assert ended(process)[0] == 4


def test_a_command_that_is_not_there(shell: Path) -> None:
    assert run(shell, STAY, "no-such-command", env={}).returncode == 127
