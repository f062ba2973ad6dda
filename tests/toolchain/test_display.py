"""How steps are shown on a terminal and in a log."""

from __future__ import annotations

import io
import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from trainform.cli.progress import (
    LineProgress,
    TerminalProgress,
    display,
    fit,
    spell_duration,
    spell_left,
    steady_left,
)
from trainform.terminal.screen import Screen

seconds = st.floats(0, 1e5)


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


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (12 * 60, "about 12 min left in all"),
        (11.2 * 60, "about 12 min left in all"),
        (61, "about 2 min left in all"),
        (60, "less than a minute left"),
        (0, "less than a minute left"),
        (-9, "less than a minute left"),
        (-10, "longer than usual"),
        (-3000, "longer than usual"),
    ],
)
def test_remaining_time_as_text(left: float, text: str) -> None:
    assert spell_left(left) == text


@given(st.floats(-1e6, 1e6))
def test_remaining_time_is_never_negative(left: float) -> None:
    assert not re.search(r"-|\b0", spell_left(left))


@given(seconds, seconds)
def test_an_estimate_that_is_a_little_longer_is_not_shown(shown: float, estimate: float) -> None:
    now = steady_left(shown, estimate)
    assert now in (shown, estimate)
    assert now <= estimate
    assert now <= shown or estimate > 1.25 * shown + 15


def test_estimates_that_rise_and_fall_are_shown_as_falling() -> None:
    shown: float | None = None
    told = []
    for estimate in (600, 640, 590, 630, 560, 580, 900, 880, 890):
        shown = steady_left(shown, estimate)
        told.append(shown)
    assert told == [600, 600, 590, 590, 560, 560, 900, 880, 880]


def test_the_remaining_time_follows_the_elapsed_time() -> None:
    lines: list[str] = []
    with LineProgress(lines.append, reminder=0.05).step("[1/2] tool chain, kwok") as step:
        step.update("[1/2] kwok: 12 of 712 packages", 700)
        while len(lines) < 3:
            time.sleep(0.01)
    assert re.fullmatch(r"\[1/2\] kwok: 12 of 712 packages … \d\.\d s, about 12 min left in all", lines[1])
    assert re.fullmatch(r"\[1/2\] tool chain, kwok: done in \d\.\d s", lines[-1])


@given(st.text(max_size=200), st.integers(1, 250))
def test_a_line_that_is_redrawn_stays_one_line(text: str, width: int) -> None:
    line = Screen(file=io.StringIO()).render_str(text)
    fitted = fit(line, ", about 12 min left in all", width)
    assert cell_len(fitted.plain) <= width
    if width >= 27:
        assert fitted.plain.endswith(", about 12 min left in all"), "the text is cut, and not the time"
    if cell_len(line.plain) + 26 <= width:
        assert fitted.plain == f"{line.plain}, about 12 min left in all"


@pytest.mark.parametrize("width", [80, 60, 30])
def test_a_line_is_not_wider_than_the_terminal(width: int) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(Screen(file=stream, force_terminal=True, width=width))
    with progress.step("[4/5] tool chain, pulumi-kubernetes") as step:
        step.update("[4/5] pulumi-kubernetes: 1017 of 1230 packages", 130)
        while "left in all" not in stream.getvalue():
            time.sleep(0.01)
    moving = [
        line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())) if "left" in line
    ]
    assert moving
    assert all(cell_len(line) <= width for line in moving)
    assert all(line.endswith("about 3 min left in all") for line in moving)


def test_the_longest_name_fits_80_columns() -> None:
    text = "[4/5] pulumi-kubernetes: 1017 of 1230 packages"
    assert fit(Text(text), ", about 22 min left in all", 78).plain.startswith(text)


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
            step.update("[1/2] kwok: 12 of 712 packages", 700)
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
