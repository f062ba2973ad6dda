"""Sections of items, the parts of every report for people: a review, drift, a promotion, a history."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct, structs

from trainform.console.lines import CHANGED_MASK, MASK, UNKNOWN

LONGEST = 120
"""Characters of a value that are shown: a longer one is cut, and its length is given."""
LONGEST_SENTENCE = 2000
MOST_ITEMS, MOST_ROWS = 500, 200
"""Items of a section and rows of an item that are shown. The others are counted; the JSON has all of them."""
NOT_SET = "not set"
Thing = TypeVar("Thing")
_MASKS = frozenset({MASK, CHANGED_MASK, UNKNOWN})


class Row(Struct, frozen=True):
    """A line below an item. label: a word of ours, or "". verbatim: the text is a value or path, not a sentence."""

    label: str
    text: str
    verbatim: bool = False


class Item(Struct, frozen=True):
    """A sentence with rows below it. level, code, where: of a finding."""

    text: str
    rows: tuple[Row, ...] = ()
    level: str = ""
    code: str = ""
    where: str = ""

    @property
    def line(self) -> str:
        """Return the sentence after its place."""
        return f"{self.where}: {self.text}" if self.where else self.text


class Table(Struct, frozen=True):
    """Cells by row; the first row has the names of the columns."""

    rows: tuple[tuple[str, ...], ...]


Block = Item | Table


class Section(Struct, frozen=True):
    """A part of the report. The first one has the report's title, and its verdict."""

    title: str
    blocks: tuple[Block, ...]
    verdict: str = ""

    @property
    def heading(self) -> str:
        """Return the title, followed by the verdict."""
        return f"{self.title}: {self.verdict}" if self.verdict else self.title


def bounded(sections: Iterable[Section]) -> list[Section]:
    """Return the sections that have a block, with long texts and lists cut: a preview may hold any names."""
    return [
        Section(cut(part.title, LONGEST_SENTENCE), _ended(map(_bounded, part.blocks), MOST_ITEMS, Item), part.verdict)
        for part in sections
        if part.blocks
    ]


def _bounded(block: Block) -> Block:
    if isinstance(block, Table):
        return Table(tuple(tuple(cut(cell, LONGEST_SENTENCE) for cell in row) for row in block.rows))
    cut_rows = (structs.replace(row, text=cut(row.text, 2 * LONGEST_SENTENCE)) for row in block.rows)
    rows = _ended(cut_rows, MOST_ROWS, lambda text: Row("", text))
    text, where = cut(block.text, LONGEST_SENTENCE), cut(block.where, LONGEST_SENTENCE)
    return structs.replace(block, text=text, where=where, code=cut(block.code), rows=rows)


def _ended(things: Iterable[Thing], most: int, end: Callable[[str], Thing]) -> tuple[Thing, ...]:
    """Return the first things, and the number of the others."""
    every = tuple(things)
    return every if len(every) <= most else (*every[:most], end(f"And {len(every) - most} more."))


def shown(value: Any, longest: int = LONGEST) -> str:
    """Return the value as JSON on one line, cut where it is long. A mask stays as it is."""
    if value is None:
        return NOT_SET
    if isinstance(value, str) and value in _MASKS:
        return value
    return cut(json.dumps(value, ensure_ascii=False, sort_keys=True), longest)


def shown_change(before: Any, after: Any, longest: int = LONGEST) -> str:
    """Return both values, `before → after`. Of two texts of several lines only those lines that differ, with the number
    of the first. If both are equal up to the cut, they are cut later."""
    place = ""
    if isinstance(before, str) and isinstance(after, str) and "\n" in before and "\n" in after:
        old, new = before.split("\n"), after.split("\n")
        same = _common(old, new)
        end = _common(old[same:][::-1], new[same:][::-1])
        before, after = ("\n".join(lines[same : len(lines) - end]) for lines in (old, new))
        place = f" (line {same + 1})"
    sides = shown(before, longest), shown(after, longest)
    return f"{' → '.join(sides if sides[0] != sides[1] else map(shown, (before, after)))}{place}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are the same at the beginning."""
    return sum(1 for _ in itertools.takewhile(lambda lines: lines[0] == lines[1], zip(one, other, strict=False)))


def cut(text: str, longest: int = LONGEST) -> str:
    """Return the beginning of a long text, with the number of characters of the whole."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: `1 stack`, `0 stacks`, `2 storage classes`."""
    plural = "es" if noun.endswith(("s", "x", "ch")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{plural}"


def listed(words: Sequence[str]) -> str:
    """Return the words as a list in a sentence: `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def sentence(text: str) -> str:
    """Return the text as a sentence. A text that ends with a line to copy has no full stop."""
    return f"{text[:1].upper()}{text[1:]}{'.' if text[-1:].isalnum() or text.endswith((')', '`')) else ''}"
