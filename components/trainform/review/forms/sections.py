"""Sections of items, of which every report is made that people read: a review, drift, a promotion, a history. The forms
show them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from trainform.review.stand_ins import CHANGED_MASK, MASKED, UNKNOWN

if TYPE_CHECKING:  # the models of reviews take longer to import than a report of drift needs
    from trainform.review.model import Picture

LONGEST, LONGEST_DESTRUCTIVE = 120, 1000
"""Characters of a value that are shown: a longer one is cut, and its length is said. What is lost for good is shown at
more length."""
LONGEST_SENTENCE = 2000
MOST_ITEMS, MOST_ROWS = 500, 200
"""Items of a section and rows of an item that are shown: nobody reads more. What else there is, is counted by what it
does; the JSON has all of it."""
NOT_SET = "not set"
_STAND_INS = frozenset({MASKED, CHANGED_MASK, UNKNOWN})


class Row(Struct, frozen=True):
    """A line below an item. label: one of our words, "" for none. text: a sentence, or a value or path to be shown as
    it is (`verbatim`)."""

    label: str
    text: str
    verbatim: bool = False


class Item(Struct, frozen=True):
    """A sentence with rows below it. level: of a finding, "" for anything else. code: the name of its kind."""

    text: str
    rows: tuple[Row, ...] = ()
    level: str = ""
    code: str = ""


class Table(Struct, frozen=True):
    """Cells by row; the first row has the names of the columns."""

    rows: tuple[tuple[str, ...], ...]


class Fold(Struct, frozen=True):
    """Items that a form may hide behind their title: nothing is lost for good by them."""

    title: str
    items: tuple[Item, ...]


class Drawing(Struct, frozen=True):
    """The picture of a job, for forms that can show one; a terminal cannot."""

    picture: Picture


Block = Item | Table | Fold | Drawing


class Section(Struct, frozen=True):
    """A part of the report. The first one has the report's title."""

    title: str
    blocks: tuple[Block, ...]


def bounded(made: Iterable[Section]) -> list[Section]:
    """The sections that say something, without texts that nobody reads to their end."""
    return [Section(cut(part.title), tuple(map(_bounded, part.blocks))) for part in made if part.blocks]


def _bounded(block: Block) -> Block:
    """The block with the beginnings of long texts: a preview may hold names of any length."""
    match block:
        case Table():
            return Table(tuple(tuple(cut(cell, LONGEST_SENTENCE) for cell in row) for row in block.rows))
        case Fold():
            return Fold(block.title, tuple(map(_bounded_item, block.items)))
        case Item():
            return _bounded_item(block)
        case Drawing():
            return block


def _bounded_item(item: Item) -> Item:
    rows = tuple(structs.replace(row, text=cut(row.text, 2 * LONGEST_SENTENCE)) for row in item.rows)
    return structs.replace(item, text=cut(item.text, LONGEST_SENTENCE), code=cut(item.code), rows=rows)


def shown(value: Any, longest: int = LONGEST) -> str:
    """The value as JSON on one line, cut where it is long; what stands for a value that is not shown stays as it is."""
    if value is None:
        return NOT_SET
    if isinstance(value, str) and value in _STAND_INS:
        return value
    return cut(json.dumps(value, ensure_ascii=False, sort_keys=True), longest)


def cut(text: str, longest: int = LONGEST) -> str:
    """The beginning of a long text, with the number of characters of the whole."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 stack`, `0 stacks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
