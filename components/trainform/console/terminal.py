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
        yield from map(Line, in_columns(block.rows, columns))
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


def in_columns(rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the rows as a table. A cell that does not fit into its column has its own line, so that all columns stay
    aligned and each name is whole."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = _fitting([[display_width(cell) for cell in row] for row in cells], width)
    starts = [len(GAP) + sum(widths[:number]) + len(GAP) * number for number in range(len(widths))]
    for row in cells:
        line = ""
        for start, cell in zip(starts, row, strict=True):
            lines = wrapped(cell, width - start) if display_width(cell) > width - start else [cell]
            column = max(min(start, width - max(map(display_width, lines))), len(GAP))
            for part in lines:
                if line and display_width(line) + len(GAP) > column:
                    yield line
                    line = ""
                line += " " * (column - display_width(line)) + part
        yield line.rstrip()


def _fitting(sizes: Sequence[Sequence[int]], width: int) -> list[int]:
    """Return the widths of the columns for all cells up to the largest size with which a row fits."""
    widths = list[int]()
    for most in sorted({size for row in sizes for size in row}, reverse=True):
        widths = [max((size for size in column if size <= most), default=0) for column in zip(*sizes, strict=True)]
        if sum(widths) + len(GAP) * len(widths) <= width:
            break
    return widths
