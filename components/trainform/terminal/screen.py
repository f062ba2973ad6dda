"""Tables, colours and lines that move: rich's console, to which no text of a user's is markup or a control sequence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from trainform.escaping import SEQUENCE, escaped
from trainform.terminal.lines import forgiving_stream

PIPED_WIDTH = 160  # a file or a pager wraps by itself; a table cut at 80 columns would lose names
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,64}m")  # rich reads the numbers, and Python none of thousands of digits
_REVEALED = Style(conceal=False)


class Screen(Console):
    """Each string is one line, shown as typed. What reaches it as a renderable is escaped too, but for its line ends."""

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
        """The string as typed. readings: markup, names of emoji and what else its caller would see in it."""
        return Text(escaped(text), style=style, justify=justify, overflow=overflow)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All that is shown comes through here."""
        return map(_visible, super().render(renderable, options))


def _visible(segment: Segment) -> Segment:
    if segment.control is not None:  # rich's own: a line that moves
        return segment
    return Segment("\n".join(map(escaped, segment.text.split("\n"))), segment.style)


def screen(*, err: bool = False, piped_width: int | None = None) -> Screen:
    """The one on standard output or standard error. piped_width: its columns where that is no terminal."""
    forgiving_stream(err)
    made = Screen(stderr=err)
    return made if made.is_terminal or piped_width is None else Screen(stderr=err, width=piped_width)


def coloured(line: str) -> Text:
    """A line that another program wrote. Its colours stay; what moves the cursor or erases is left out, since nothing is there that it
    could be meant for, and nothing is concealed; anything else is escaped, but for tabs."""
    pieces, end = [], 0
    for found in SEQUENCE.finditer(line):
        pieces += [_shown(line[end : found.start()]), found.group() if _COLOURS.fullmatch(found.group()) else ""]
        end = found.end()
    text = Text.from_ansi("".join([*pieces, _shown(line[end:])]))
    text.stylize(_REVEALED)
    return text


def _shown(text: str) -> str:
    return "\t".join(map(escaped, text.split("\t")))
