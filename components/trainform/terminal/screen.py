"""Tables, colours and progress lines: rich's console, which does not interpret text as markup or control sequences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from trainform.escaping import SEQUENCE, escaped
from trainform.terminal.lines import output_stream

PIPED_WIDTH = 160  # files and pagers do not need 80 columns, at which a table would cut names
_COLOURS = re.compile(
    r"\x1b\[[0-9;]{0,64}m"
)  # bounded, since rich converts the numbers, and Python refuses thousands of digits
_NOT_CONCEALED = Style(conceal=False)


class Screen(Console):
    """A console that prints each string as one line, without markup. Other renderables are escaped too, except for line ends."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(
        self,
        text: str,
        *,
        style: str | Style = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        **readings: Any,
    ) -> Text:
        """Return the string without any interpretation. `readings`: rich's options for markup and emoji, which are ignored."""
        return Text(escaped(text), style=style, justify=justify, overflow=overflow)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with every segment escaped; all output passes through here."""
        return map(_visible, super().render(renderable, options))


def _visible(segment: Segment) -> Segment:
    if segment.control is not None:  # rich's own control codes
        return segment
    return Segment("\n".join(map(escaped, segment.text.split("\n"))), segment.style)


def screen(*, err: bool = False, piped_width: int | None = None) -> Screen:
    """Return a screen on standard output or standard error. `piped_width`: its columns if that is not a terminal."""
    output_stream(err)
    made = Screen(stderr=err)
    return made if made.is_terminal or piped_width is None else Screen(stderr=err, width=piped_width)


def coloured(line: str) -> Text:
    """Return a line of another program's output with its colours.

    Sequences that move the cursor or erase are removed, concealed text is shown, and other control characters except tabs are escaped.
    """
    pieces, end = [], 0
    for found in SEQUENCE.finditer(line):
        pieces += [
            _escape_except_tabs(line[end : found.start()]),
            found.group() if _COLOURS.fullmatch(found.group()) else "",
        ]
        end = found.end()
    text = Text.from_ansi("".join([*pieces, _escape_except_tabs(line[end:])]))
    text.stylize(_NOT_CONCEALED)
    return text


def _escape_except_tabs(text: str) -> str:
    return "\t".join(map(escaped, text.split("\t")))
