"""run.sh, process 1 of containers, in each shell of training images, with the programs of busybox in one of them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.plan.launch.starting import LAST, Container

PYTHON = (sys.executable, "-IS", "-c")
RAISES = "import sys; print('step 1'); raise ValueError('the shape is (3, 4)')"
TRACEBACK = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
ValueError: the shape is (3, 4)
"""
HEARS = """
import signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda number, frame: sys.exit(number))
print("ready", flush=True)
time.sleep(60)
"""


def test_a_command_that_raises(container: Container) -> None:
    assert container.run(*PYTHON, RAISES) == (1, "step 1\n", TRACEBACK, TRACEBACK)


def test_a_success_writes_no_message(container: Container) -> None:
    ended = container.run("sh", "-c", "echo 100 steps; echo a warning >&2")
    assert ended == (0, "100 steps\n", "a warning\n", "")
    assert not [*container.folder.glob("tmp.*")]


@pytest.mark.parametrize(("command", "code"), [("exit 42", 42), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_code_stays(command: str, code: int, container: Container) -> None:
    assert container.run("sh", "-c", command) == (code, "", "", "")


def test_a_program_that_the_image_lacks(container: Container) -> None:
    ended = container.run("torchrun", "train.py")
    assert ended.code == 127
    assert "torchrun" in ended.message


def test_words_and_variables_reach_the_command(container: Container) -> None:
    words = ('printf \'[%s]\' "$RANK" "$@"', "name", "two words", "", "$HOME", "*", "a=b")
    assert container.run("sh", "-c", *words, RANK="1").output == "[1][two words][][$HOME][*][a=b]"


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_signals_reach_the_command(asked: signal.Signals, container: Container) -> None:
    """Without GNU's env a shell's child ignores INT and QUIT, so it gets TERM."""
    process = container.start(*PYTHON, HEARS)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(asked)
    as_it_is = container.shell.resolve().name != "busybox"
    assert process.wait(LAST) == (asked if as_it_is else signal.SIGTERM)


def test_a_signal_to_all_processes_leaves_the_filter(container: Container) -> None:
    """The command's last words pass."""
    says = HEARS.replace("sys.exit(number)", "sys.exit('saved')")
    process = container.start(*PYTHON, says)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(LAST) in (1, signal.SIGTERM + 128), "bash forgets the code of what ends with the signal"
    assert process.stderr.read().rstrip() == "saved", "bash may add a line end"
    assert container.log.read_text() == "saved\n"


def children(process: int) -> list[str]:
    """Return the states of a process's children."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    states = list[str]()
    for child in found:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it was reaped meanwhile
            states.append(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0])
    return states


def test_orphans_are_reaped(container: Container) -> None:
    process = container.start("sh", "-c", "(sleep 0.1 & sleep 0.1 &); (sleep 60 &); echo begun; sleep 60")
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    end = time.monotonic() + LAST
    while len(found := children(process.pid)) != 4 and time.monotonic() < end:
        time.sleep(0.05)
    assert found == ["S"] * 4, "tee, awk's shell, the command, and the orphan that still runs"


def test_errors_pass_at_once_and_unchanged(container: Container, tmp_path: Path) -> None:
    """Before the end of a line, since progress bars have none; bytes that are no text too."""
    seen = tmp_path / "seen"
    script = f"printf '\\033[1m 10%%\\r 2\\0\\377' >&2; while [ ! -e {seen} ]; do sleep 0.05; done; echo >&2"
    process = container.start("sh", "-c", script)
    assert process.stderr is not None
    assert os.read(process.stderr.fileno(), 100) == b"\033[1m 10%\r 2\0\377"
    seen.touch()
    assert process.wait(LAST) == 0


def test_much_output_passes_in_order(container: Container) -> None:
    count = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo line $i; done >&2; exit 1"
    ended = container.run("sh", "-c", count)
    assert ended.errors == "".join(f"line {number}\n" for number in range(1, 20001))
    assert ended.message == "".join(f"line {number}\n" for number in range(19981, 20001))


def test_what_the_command_leaves_behind_delays_the_end_little(container: Container) -> None:
    """It holds standard error open, like sshd."""
    started = time.monotonic()
    assert container.run("sh", "-c", "sleep 50 & echo no route >&2; exit 3").message == "no route\n"
    assert time.monotonic() - started < 30


def without(container: Container, *names: str) -> str:
    """Return a PATH without these programs."""
    folder = container.folder / "fewer"
    folder.mkdir()
    for name in {"sh", "env", "awk", "cat", "tee", "tr", "fold", "mktemp", "mkfifo", "rm", "sleep"} - {*names}:
        if (Path(container.path) / name).exists():
            (folder / name).symlink_to(Path(container.path) / name)
    return str(folder)


@pytest.mark.parametrize("missing", ["awk", "tee", "fold", "mktemp", "mkfifo", "env"])
def test_without_a_program_the_job_runs_the_same(missing: str, container: Container) -> None:
    if container.shell.resolve().name == "busybox":
        pytest.skip("its shell has them built in")
    ended = container.run(*PYTHON, RAISES, PATH=without(container, missing))
    assert ended[:3] == (1, "step 1\n", TRACEBACK)
    assert ended.message == (TRACEBACK if missing == "env" else "")


def test_without_a_log_of_the_termination_the_job_runs_the_same(container: Container) -> None:
    container.log.unlink()
    assert container.run(*PYTHON, RAISES) == (1, "step 1\n", TRACEBACK, "")


def test_a_read_only_image_has_shared_memory(container: Container) -> None:
    ended = container.run(*PYTHON, RAISES, TMPDIR="/proc")
    assert ended == (1, "step 1\n", TRACEBACK, TRACEBACK)
    assert not [*Path("/dev/shm").glob("trainform.*")]  # noqa: S108 -- where the script writes


def test_an_awk_that_fails_stops_no_job(container: Container) -> None:
    if container.shell.resolve().name == "busybox":
        pytest.skip("its shell has awk built in")
    path = without(container, "awk")
    (Path(path) / "awk").write_text("#!/bin/sh\nexit 2\n")
    (Path(path) / "awk").chmod(0o755)
    ended = container.run(*PYTHON, "import sys; sys.stderr.write('x' * 1000000); sys.exit(5)", PATH=path)
    assert (ended.code, len(ended.errors), ended.message) == (5, 1000000, "")
