"""What a step looks like where there is no terminal."""

from __future__ import annotations

import re
import time

import pytest

from trainform.cli.progress import LineProgress, spell_duration


def test_a_step_is_told_at_its_beginning_in_between_and_at_its_end() -> None:
    lines: list[str] = []
    progress = LineProgress(lines.append, reminder=0.05)
    with progress.step("building kwok") as step:
        step.update("building kwok: 12 packages")
        while not any(re.match(r"building kwok: 12 packages … \d", line) for line in lines):
            time.sleep(0.01)
    assert lines[0] == "building kwok …"
    assert re.match(r"building kwok: done in \d", lines[-1])


def test_a_step_that_fails_says_how_far_it_was() -> None:
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt), LineProgress(lines.append).step("building") as step:
        step.update("building: 3 of 9")
        raise KeyboardInterrupt
    assert lines[-1].startswith("building: 3 of 9: ended after")


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s")])
def test_durations(seconds: float, text: str) -> None:
    assert spell_duration(seconds) == text
