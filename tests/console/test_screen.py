"""Tables and lines: text is shown as typed, and only our own colours and movements reach the terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tests.support.unseen import FORGED, MARKUP, SAMPLES, texts, unseen
from trainform.cli.progress import TerminalProgress
from trainform.console.screen import Screen, plain, screen
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.records import PodRecord

OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[[0-9]*[AK]|\x1b\[2K|\x1b\[\?25[lh]|\r")


def on(terminal: bool) -> tuple[Screen, io.StringIO]:
    stream = io.StringIO()
    colours = "standard" if terminal else None
    return Screen(file=stream, force_terminal=terminal, width=2000, color_system=colours), stream


def table(text: str) -> Table:
    made = Table(text, title=text)
    made.add_row(text)
    made.add_row(Text(text))
    return made


@given(texts)
def test_no_printed_text_has_control_characters(text: str) -> None:
    for terminal in (False, True):
        console, stream = on(terminal)
        console.print(text, soft_wrap=True)
        console.print(Rule(text))
        console.print(table(text))
        console.print(plain(text), soft_wrap=True)
        assert not unseen(OURS.sub("", stream.getvalue()))


@given(texts)
def test_progress_and_rehearsals_are_escaped(text: str) -> None:
    for terminal in (False, True):
        console, stream = on(terminal)
        progress = TerminalProgress(console)
        with progress.step(text) as step:
            step.update(text)
        progress.note(text)
        display = ConsoleDisplay(console)
        with display.watch([("pod", text)], lambda: [PodRecord("pod", text, 1, text)]):
            display.line("pod", text)
            display.note(text)
        assert not unseen(OURS.sub("", stream.getvalue()))


@pytest.mark.parametrize("text", [*MARKUP, "a" + "".join(MARKUP)])
def test_markup_is_shown_as_typed(text: str) -> None:
    console, stream = on(terminal=False)
    console.print(text, soft_wrap=True)
    console.print(table(text))
    TerminalProgress(console).note(text)
    with TerminalProgress(console).step(text):
        pass
    assert stream.getvalue().count(text) == 7


@pytest.mark.parametrize("text", [*FORGED, *SAMPLES])
def test_a_string_is_printed_on_one_line(text: str) -> None:
    console, stream = on(terminal=False)
    console.print(f"a{text}b", soft_wrap=True)
    assert len(stream.getvalue().splitlines()) == 1


def test_control_sequences_of_a_pods_output_are_removed() -> None:
    line = "\x1b[31mred\x1b[0m\x1b[2J\x1b[3A \x1b[8mforged \x9b2J \x1b[?25l\tend"
    assert plain(line).plain.split() == ["red", "forged", r"\x9b2J", "end"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_dumb_terminal_gets_plain_lines(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding))
    console = screen(piped_width=100)
    console.print("東京", soft_wrap=True)
    console.print(table("…"))
    console.file.flush()
    assert raw.getvalue().startswith(b"\\u6771\\u4eac\n")
