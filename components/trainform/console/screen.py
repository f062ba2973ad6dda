"""Tables, colours and progress lines: rich's console, which does not interpret text as markup or control sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from trainform.console.lines import escaped, output_stream, plain_text

PIPED_WIDTH = 160  # files and pagers do not need 80 columns, at which a table would cut names


class Screen(Console):
    """A console that prints each string as one line, without markup. Other renderables keep their line ends."""

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
        """Return the string uninterpreted. `readings`: rich's options for markup and emoji, which are ignored."""
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
    default = Screen(stderr=err)
    return default if default.is_terminal or piped_width is None else Screen(stderr=err, width=piped_width)


def plain(line: str) -> Text:
    """Return a line of another program's output as `plain_text` does."""
    return Text(plain_text(line))
