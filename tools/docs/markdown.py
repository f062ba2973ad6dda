"""Markdown whose lines are short enough for a diff: paragraphs, items of lists and tables."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

MOST_CHARACTERS = 119
_BLANK = "\N{NO-BREAK SPACE}"


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """Return the text in short lines, code in one piece; `first` and `rest` stand before the first line and before each
    other."""
    whole = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", _BLANK), text)
    lines = textwrap.wrap(
        whole,
        MOST_CHARACTERS,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(_BLANK, " ")


def item(text: str, depth: int = 0) -> str:
    """Return an item of a list, `depth` levels below another."""
    return paragraph(text, f"{'  ' * depth}- ", f"{'  ' * depth}  ")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Its rows stay whole: Markdown knows no others."""
    head, *body = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *body])


def page(*blocks: str) -> str:
    """Return a document of these blocks."""
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"
