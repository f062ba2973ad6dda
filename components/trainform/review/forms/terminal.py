"""A review as text for a terminal: names and values on lines that fit, without any control character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.escaping import display_width, escaped, wrapped
from trainform.review.forms.sections import Block, Drawing, Fold, Item, Row, Section, Table

if TYPE_CHECKING:
    from trainform.review.model import Review

WIDEST, NARROWEST = 119, 40
USUAL = 80
GAP = "  "
LEVEL, LABEL = 10, 8
"""Columns of the levels of findings, and of the labels below an item: their texts stand below each other."""


class Line(Struct, frozen=True):
    """A line of the review. style: what it is (`title`, `high`, `medium`, `low`), for the colours of a terminal; "" for
    none."""

    text: str
    style: str = ""


def render(review: Review, width: int = USUAL) -> str:
    """The review as text that ends with a line feed. width: columns; it is brought between `NARROWEST` and `WIDEST`."""
    return "".join(f"{line.text}\n" for line in lines(review, width))


def lines(review: Review, width: int = USUAL) -> Iterator[Line]:
    """The lines of the review, each with what it is."""
    from trainform.review.forms.document import documents  # here, since other reports have no review

    return lines_of(documents(review), width)


def lines_of(found: Iterable[Sequence[Section]], width: int) -> Iterator[Line]:
    """The lines of documents, each of which has its title in the first section."""
    columns = max(NARROWEST, min(width, WIDEST))
    for index, document in enumerate(found):
        if index:
            yield from (Line(""), Line(""))
        yield from _document(document, columns)


def _document(sections: Sequence[Section], columns: int) -> Iterator[Line]:
    shown = [part for part in sections if not all(isinstance(block, Drawing) for block in part.blocks)]
    for index, section in enumerate(shown):
        if index:
            yield Line("")
        yield from (Line(text, "title") for text in _filled(section.title, columns))
        for block in section.blocks:
            yield from _block(block, columns)


def _block(block: Block, columns: int) -> Iterator[Line]:
    match block:
        case Table():
            yield from map(Line, _table(block.rows, columns))
        case Fold():
            yield from (Line(f"{GAP}{text}:") for text in _filled(block.title, columns - len(GAP) - 1))
            for item in block.items:
                yield from _item(item, columns)
        case Item():
            yield from _item(block, columns)


def _item(item: Item, columns: int) -> Iterator[Line]:
    if not item.level:
        yield from map(Line, _hanging(GAP, _filled(item.text, columns - len(GAP))))
    else:
        label = f"{GAP}{item.level.upper():<{LEVEL}}"
        first, *others = _filled(f"{item.code} {item.text}", columns - len(label))
        yield Line(f"{label}{first}", item.level)
        yield from (Line(f"{'':<{len(label)}}{text}", item.level) for text in others)
    for row in item.rows:
        yield from map(Line, _row(row, columns))


def _row(row: Row, columns: int) -> Iterator[str]:
    label = f"{GAP}{GAP}{f'{row.label:<{LABEL}}' if row.label else ''}"
    return _hanging(label, _filled(row.text, columns - len(label)))


def _hanging(label: str, texts: Sequence[str]) -> Iterator[str]:
    """The lines with the label before the first one, and below each other."""
    for index, text in enumerate(texts):
        yield f"{label if index == 0 else ' ' * len(label)}{text}".rstrip()


def _filled(text: str, room: int) -> list[str]:
    """Lines of whole words. A word that is wider than a line is broken, since here nothing may be wider."""
    found = [part for line in wrapped(text, room) for part in _broken(line, room)]
    return found if found else [""]


def _broken(line: str, room: int) -> Iterator[str]:
    begun, taken = "", 0
    for letter in line if display_width(line) > room else ():
        size = display_width(letter)
        if begun and taken + size > room:
            yield begun
            begun, taken = "", 0
        begun, taken = begun + letter, taken + size
    yield begun if begun else line


def _table(rows: Sequence[Sequence[str]], columns: int) -> Iterator[str]:
    """The rows below each other where they fit; else a line for each cell, with the name of its column."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + len(GAP) * len(widths) <= columns:
        for row in cells:
            padded = (
                f"{GAP}{cell}{' ' * (wide - display_width(cell))}" for cell, wide in zip(row, widths, strict=True)
            )
            yield "".join(padded).rstrip()
        return
    names, *others = cells
    label = max(map(len, names)) + len(GAP)
    for first, *rest in others:
        yield from (f"{GAP}{text}" for text in _filled(f"{names[0]} {first}", columns - len(GAP)))
        for name, cell in zip(names[1:], rest, strict=True):
            yield from _hanging(f"{GAP}{GAP}{name:<{label}}", _filled(cell, columns - label - 2 * len(GAP)))
