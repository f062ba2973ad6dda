"""A report as text for a terminal: names and values on lines that fit, without any control character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from trainform.console.lines import display_width, escaped, wrapped
from trainform.console.sections import Block, Section, Table

WIDEST, NARROWEST, USUAL = 119, 40, 80
GAP = "  "
LEVEL, LABEL = 8, 8
"""Columns of the levels of findings, and of the labels below an item: their texts stand below each other."""


class Line(Struct, frozen=True):
    """A line of the report. style: `title`, `high`, `medium` or `low`, for the colours of a terminal."""

    text: str
    style: str = ""


def lines_of(given: Iterable[Sequence[Section]], width: int) -> Iterator[Line]:
    """Yield the lines of documents, each of which has its title in the first section."""
    columns = max(NARROWEST, min(width, WIDEST))
    for index, document in enumerate(given):
        yield from [Line("")] * (2 if index else 0)
        for place, section in enumerate(document):
            yield from [Line("")] * (1 if place else 0)
            yield from (Line(text, "title") for text in wrapped(section.heading, columns))
            for block in section.blocks:
                yield from _block(block, columns)


def _block(block: Block, columns: int) -> Iterator[Line]:
    if isinstance(block, Table):
        yield from map(Line, _table(block.rows, columns))
        return
    label = f"{GAP}{block.level.upper():<{LEVEL}}" if block.level else GAP
    text = f"{block.code} {block.line}" if block.code else block.line
    yield from (Line(line, block.level) for line in _hanging(label, text, columns))
    for row in block.rows:
        indent = " " * (len(row.text) - len(row.text.lstrip(" ")))  # of a line of another program
        label = f"{row.label:<{LABEL}}" if row.label else ""
        yield from map(Line, _hanging(f"{GAP}{GAP}{label}{indent}", row.text, columns))


def _hanging(label: str, text: str, columns: int) -> Iterator[str]:
    """Yield the text in lines below each other, the first one after the label."""
    for index, line in enumerate(wrapped(text, columns - len(label)) or [""]):
        yield f"{' ' * len(label) if index else label}{line}".rstrip()


def _table(rows: Sequence[Sequence[str]], columns: int) -> Iterator[str]:
    """Yield the rows below each other if they fit, else each as a sentence with the names of the columns."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + len(GAP) * len(widths) <= columns:
        for row in cells:
            padded = (f"{cell}{' ' * (wide - display_width(cell))}" for cell, wide in zip(row, widths, strict=True))
            yield f"{GAP}{GAP.join(padded)}".rstrip()
        return
    names, *others = cells
    for row in others:
        yield from _hanging(GAP, ", ".join(f"{name} {cell}" for name, cell in zip(names, row, strict=True)), columns)
