"""stay.sh, the script of pods whose success must not be counted, in each shell of training images."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.plan.launch.starting import LAST, Container, end_all

STAYS = "trainform: done; waiting for the end of the job\n"
HEARS = "trap 'echo heard; exit {code}' TERM INT QUIT; echo ready; while :; do sleep 0.05; done"
SAVES = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"heard\\n"))
os.write(1, b"ready\\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
sys.exit(4)
"""


def start(container: Container, *words: str) -> subprocess.Popen[str]:
    """Start the script with a command."""
    return container.start(*words, first="stay.sh")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of the script; its exit code and its standard output."""
    process.wait(timeout=LAST)
    end_all(process)
    output, _ = process.communicate(timeout=LAST)
    return process.returncode, output


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("exit 143", 143)])
def test_a_failure_passes(command: str, code: int, container: Container) -> None:
    assert container.run("sh", "-c", command, first="stay.sh").code == code


def test_it_writes_why_it_failed(container: Container) -> None:
    assert container.run("sh", "-c", "echo no GPU >&2; exit 7", first="stay.sh").message == "no GPU\n"


def test_the_command_gets_arguments_and_variables_unchanged(container: Container) -> None:
    words = ('printf \'[%s]\' "$RANK" "$@"; exit 3', "name", "two words", "", "$HOME", "*")
    done = container.run("sh", "-c", *words, first="stay.sh", RANK="1")
    assert (done.code, done.output) == (3, "[1][two words][][$HOME][*]")


# what may end a container: an image says which by STOPSIGNAL
SIGNALS = pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])


@SIGNALS
def test_after_a_success_it_stays_until_it_is_asked_to_end(asked: signal.Signals, container: Container) -> None:
    """And is then no success."""
    process = start(container, "echo", "trained")
    assert process.stderr is not None
    assert process.stderr.readline() == STAYS
    assert process.poll() is None
    process.send_signal(asked)
    assert ended(process) == (143, "trained\n")
    assert container.log.read_text() == ""


@SIGNALS
@pytest.mark.parametrize(("code", "expected"), [(5, 5), (0, 143)])
def test_the_command_gets_the_signal_that_ends_the_pod(
    code: int, expected: int, asked: signal.Signals, container: Container
) -> None:
    """A success after a request to end is not counted either."""
    process = start(container, "sh", "-c", HEARS.format(code=code))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(asked)
    assert ended(process) == (expected, "heard\n")


def test_it_waits_for_processes_that_end_late(container: Container) -> None:
    """A signal ends the shell's `wait`, not what it waits for."""
    saved = container.folder / "saved"
    process = start(container, sys.executable, "-IS", "-c", SAVES, str(saved))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "heard\n"
    assert process.poll() is None
    saved.touch()
    assert ended(process)[0] == 4


def test_a_command_that_is_not_there(container: Container) -> None:
    assert container.run("no-such-command", first="stay.sh").code == 127
