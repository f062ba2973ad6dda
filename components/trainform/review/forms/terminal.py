"""A review as text for a terminal: names and values on lines that fit, without any control character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.console.escaping import display_width, escaped, wrapped
from trainform.review.forms.sections import Block, Section, Table

if TYPE_CHECKING:
    from trainform.review.model import Review

WIDEST, NARROWEST, USUAL = 119, 40, 80
GAP = "  "
LEVEL, LABEL = 8, 8
"""Columns of the levels of findings, and of the labels below an item: their texts stand below each other."""
DETAILS = "details: --full"


class Line(Struct, frozen=True):
    """A line of the review. style: `title`, `high`, `medium` or `low`, for the colours of a terminal."""

    text: str
    style: str = ""


def render(review: Review, width: int = USUAL, *, full: bool = False) -> str:
    """Return the review as text that ends with a line feed. width: columns, between `NARROWEST` and `WIDEST`. full:
    with all details, and the stacks whose row in the overview is complete."""
    return "".join(f"{line.text}\n" for line in lines(review, width, full=full))


def lines(review: Review, width: int = USUAL, *, full: bool = False) -> Iterator[Line]:
    """Yield the lines of the review, each with its style."""
    from trainform.review.forms.document import documents  # here, since other reports have no review

    every = documents(review, every=full)
    yield from lines_of(every if full else [document[:1] for document in every], width)
    if not full:
        yield Line(f"{GAP}{DETAILS}")


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
        yield from map(Line, _hanging(f"{GAP}{GAP}{f'{row.label:<{LABEL}}' if row.label else ''}", row.text, columns))


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
