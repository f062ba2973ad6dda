"""What a rehearsal shows, in a terminal and elsewhere; without Docker."""

from __future__ import annotations

import io
import time

from tests.rehearsal.workloads import full_name
from trainform.rehearsal.run.display import ConsoleDisplay
from trainform.rehearsal.run.records import PodRecord
from trainform.terminal.screen import Screen

NAMES = [(full_name("master-0"), "master-0"), (full_name("evaluation-watcher-0"), "evaluation-watcher-0")]


def rows() -> list[PodRecord]:
    now = time.monotonic()
    return [
        PodRecord(full_name("master-0"), "Failed", 1, "exit code 1", restarts=2, began=now - 3.25, ended=now),
        PodRecord(full_name("evaluation-watcher-0")),
    ]


def shown(terminal: bool) -> str:
    stream = io.StringIO()
    display = ConsoleDisplay(
        Screen(file=stream, force_terminal=terminal, width=100, color_system="standard" if terminal else None)
    )
    with display.watch(NAMES, rows):
        display.note("[bold] is no markup here")
        display.line(full_name("master-0"), f"[/] epoch 1 {'x' * 120}")
        display.line(full_name("evaluation-watcher-0"), "\x1b[31mred\x1b[0m\x1b[2J")
    return stream.getvalue()


def test_lines_with_a_prefix_and_one_table_at_the_end() -> None:
    text = shown(terminal=False)
    note, first, second, *table = text.splitlines()
    assert note == "[bold] is no markup here"
    assert first == f"master-0             | [/] epoch 1 {'x' * 120}"
    assert second.startswith("evaluation-watcher-0 | red")
    assert "\x1b" not in text
    cells = [line.split() for line in table if line.strip() and "─" not in line]
    assert cells == [
        ["pod", "phase", "exit", "seconds"],
        ["master-0", "Failed", "1", "3.2", "exit", "code", "1,", "2", "restarts"],
        ["evaluation-watcher-0", "Pending", "0.0"],
    ]


def test_a_terminal_has_coloured_names_and_a_table_that_moves() -> None:
    text = shown(terminal=True)
    assert "\x1b[36mmaster-0             | " in text
    assert "\x1b[35mevaluation-watcher-0 | " in text
    assert "\x1b[2J" not in text  # a pod does not clear the screen
    assert text.count("Pending") > 1
