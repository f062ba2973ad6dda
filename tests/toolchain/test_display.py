"""How steps are shown on a terminal and in a log."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.cells import cell_len

from trainform.cli.progress import (
    LineProgress,
    TerminalProgress,
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
