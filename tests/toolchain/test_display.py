"""How steps are shown on a terminal and in a log."""

from __future__ import annotations

import io
import os
import re
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from trainform.cli.progress import (
    LineProgress,
    TerminalProgress,
    display,
    spell_duration,
)
from trainform.terminal.screen import Screen


def test_a_step_is_shown_at_its_beginning_its_updates_and_its_end() -> None:
    lines: list[str] = []
    progress = LineProgress(lines.append, reminder=0.05)
    with progress.step("building kwok") as step:
        step.update("building kwok: 12 packages")
        while not any(re.match(r"building kwok: 12 packages … \d", line) for line in lines):
            time.sleep(0.01)
    assert lines[0] == "building kwok …"
    assert re.match(r"building kwok: done in \d", lines[-1])


def test_a_failed_step_shows_its_last_update() -> None:
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt), LineProgress(lines.append).step("building") as step:
        step.update("building: 3 of 9")
        raise KeyboardInterrupt
    assert lines[-1].startswith("building: 3 of 9: ended after")


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s")])
def test_duration_as_text(seconds: float, text: str) -> None:
    assert spell_duration(seconds) == text


@pytest.mark.parametrize("width", [80, 60])
def test_a_line_is_not_wider_than_the_terminal(width: int) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(Screen(file=stream, force_terminal=True, width=width))
    with progress.step("[4/5] tool chain, pulumi-kubernetes") as step:
        step.update("[4/5] pulumi-kubernetes: 1017 of 1230 packages [bold]")
        while "[4/5] pulumi" not in stream.getvalue():
            time.sleep(0.01)
    moving = re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()))
    redrawn = [line for line in moving if re.search(r"\d:\d\d:\d\d", line)]
    assert redrawn
    assert all(cell_len(line) <= width for line in redrawn)


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}])
def test_a_log_gets_lines_without_control_characters(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr("sys.stderr", log)
        progress = display()
        with progress.step("[1/2] tool chain, kwok") as step:
            step.update("[1/2] kwok: 12 of 712 packages")
        progress.note("made")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", (tmp_path / "log").read_text())


@pytest.mark.parametrize(("term", "kind"), [("xterm", TerminalProgress), ("dumb", LineProgress)])
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(
    term: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as stream, os.fdopen(master):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr("sys.stderr", stream)
        assert isinstance(display(), kind)
