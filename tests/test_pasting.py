"""Pasted text is run line by line, and lines that a command reads are detected."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.live import until
from tests.support import pasting
from tests.support.pasting import COLUMNS, CURSOR_ANSWER, ROWS, SHELLS, PastingShell


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PastingShell]:
    with PastingShell(request.param, tmp_path, {"PATH": os.environ["PATH"], "HOME": "/nowhere"}) as shell:
        yield shell


def test_each_line_has_its_exit_code(shell: PastingShell) -> None:
    pasted = shell.paste("true\n(exit 3)\nfalse\n")
    assert pasted.codes == [0, 3, 1]
    with pytest.raises(AssertionError, match="false"):
        pasted.succeeded()


def test_a_failure_inside_a_pipeline_is_seen(tmp_path: Path) -> None:
    with PastingShell("bash", tmp_path, {"PATH": os.environ["PATH"]}) as shell:
        assert shell.paste("false | true\n").codes == [1]


def test_one_shell_runs_all_pastes(shell: PastingShell, tmp_path: Path) -> None:
    shell.paste("mkdir inner\ncd inner\nANSWER=42\n").succeeded()
    shell.paste('echo "$ANSWER" > answer\n').succeeded()
    assert (tmp_path / "inner" / "answer").read_text() == "42\n"


def test_nothing_comes_from_the_shell_of_the_tests(shell: PastingShell) -> None:
    shown = shell.paste("env\n").succeeded()
    assert "HOME=/nowhere" in shown
    assert "PYTEST_CURRENT_TEST" not in shown


def test_it_is_a_terminal_with_a_size(shell: PastingShell) -> None:
    shown = shell.paste("test -t 0\ntest -t 1\ntest -t 2\nstty size < /dev/tty\n").succeeded()
    assert f"{ROWS} {COLUMNS}" in shown


def test_a_line_that_a_command_takes_is_missed(shell: PastingShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasting, "QUIET_SECONDS", 0.5)
    pasted = shell.paste("read -r line\necho never\n")
    assert len(pasted.codes) < 2
    with pytest.raises(AssertionError, match="read -r line"):
        pasted.succeeded()


def test_a_command_that_waits_for_ever_is_given_up(shell: PastingShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasting, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(pasting, "MOST_SILENT_SECONDS", 0.5)
    assert not shell.paste("cat /dev/zero > /dev/null\n").codes


def test_a_closed_terminal_ends_its_programs_also_below_nohup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasting, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(pasting, "MOST_SILENT_SECONDS", 0.5)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup leaves it
    try:
        with PastingShell("bash", tmp_path, {"PATH": os.environ["PATH"]}) as shell:
            shell.paste("sh -c 'echo $$ > program; exec sleep 600'\n")
            program = Path("/proc", (tmp_path / "program").read_text().strip())
            assert program.exists()
    finally:
        signal.signal(signal.SIGHUP, before)
    until(lambda: not program.exists(), "the program to end")


def test_a_shell_that_ends_is_seen(shell: PastingShell) -> None:
    assert shell.paste("exit 0\ntrue\n").codes == []


def test_the_terminal_answers_where_its_cursor_is(shell: PastingShell, tmp_path: Path) -> None:
    shell.paste(r"stty -icanon; printf '\033[6n'; head -c 6 > answer; stty icanon").succeeded()
    assert (tmp_path / "answer").read_bytes() == CURSOR_ANSWER
