"""A review as a comment on a pull request: what weighs most first, within the length that a comment may have.

The report is a tree of parts, each with text that is Markdown by itself. Parts are taken by their rank until there is no more room, and with each
all that it stands in: what is left out can break nothing. It is counted by name.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from trainform.review.forms.markdown import cell, code, drawing, prose
from trainform.review.forms.overview import FOLDED, documents, gone, weighs
from trainform.review.forms.sections import Block, Drawing, Fold, Item, Row, Section, Table, cut
from trainform.review.model import Outcome, Report, Review

LONGEST_CELL = 300
MOST_DETAILS = 30
"""Rows of an item that are shown: a change of thousands of fields leaves room for others."""
# Ranks, the heaviest first. What a preview of hundreds of stacks has of one rank may fill the comment: then nothing of the next one is in it.
HIGH, STACKS, ABOUT, DESTRUCTIVE, EFFECTS, MEDIUM, VERDICTS, LOW, OTHERS, PICTURE = range(10)
LEVELS = {"high": HIGH, "medium": MEDIUM, "low": LOW}
# Section -> rank of its items, and what they are called where they are left out.
SECTIONS = {
    "What happens": (EFFECTS, "effects"),
    "Findings": (LOW, "findings"),
    "Cost": (VERDICTS, "costs"),
    "Capacity": (VERDICTS, "capacities"),
    "Changes": (DESTRUCTIVE, "destructive changes"),
    "Picture": (PICTURE, "pictures"),
    "In the cluster": (OTHERS, "facts of the cluster"),
    "Waivers": (OTHERS, "waivers"),
    "Messages of the engine": (VERDICTS, "messages of the engine"),
    "Not checked": (VERDICTS, "parts not checked"),
    "Secrets": (OTHERS, "counts of secrets"),
    "Stacks": (STACKS, "stacks of the table"),
    "Cost in sum": (ABOUT, "costs"),
}
OTHER_SECTION = (OTHERS, "items")
_ROWS = 0.5  # behind all items of their rank
_ROOM = 1500  # for the end of the comment: the names above with numbers
_WEIGHT = (Outcome.failed, Outcome.findings, Outcome.incomplete, Outcome.clean)


class Part(Struct, frozen=True):
    """A part of the comment: its text, the parts in it, and what ends it. rank: when it is taken; None: with the first part in it. name: in the
    count of what is left out."""

    text: str
    parts: tuple[Part, ...] = ()
    end: str = ""
    rank: float | None = None
    name: str = ""


def size(text: str) -> int:
    """The length in the strictest way that a server could count it: bytes, and two of them for the end of a line. There are never more characters."""
    return len(text.encode()) + text.count("\n")


def render(review: Review, page: str, commit: str, limit: int) -> str:
    """The comment, no longer than the limit. page: an address of which nothing has to be escaped. commit: its hash."""
    whole = Part("", tuple(_parts(review)))
    end = f"\n[The whole report]({page}) · commit {code(commit)}\n"
    taken = _taken(whole, limit - size(end) - _ROOM)
    return f"{_text(whole, taken).strip()}\n\n---\n{_left_out(whole, taken)}{end}"


def untouched(stack: str, page: str, commit: str) -> str:
    """The comment on a stack that the pull request touches no longer."""
    return _sentence(stack, "This change no longer touches the stack.", page, commit)


def removed(stack: str, page: str, commit: str) -> str:
    """The comment on a stack whose file of config the pull request removes."""
    return _sentence(stack, gone(stack), page, commit)


def _sentence(stack: str, text: str, page: str, commit: str) -> str:
    title = prose(cut(f"Review of {stack}"))
    return f"## {title}\n\n{prose(text)}\n\n---\n\n[The whole report]({page}) · commit {code(commit)}\n"


# --- the tree


def _parts(review: Review) -> Iterator[Part]:
    made = documents(review)
    yield _document(made[0], HIGH - 1)
    several = zip(review.stacks, made[1:], strict=False)  # of one stack there is no summary
    for report, document in sorted(several, key=lambda pair: _order(pair[0])):
        yield _document(document, ABOUT, fold=not weighs(report))


def _order(report: Report) -> tuple[int, ...]:
    """The place of a stack's report among the others: the heaviest first."""
    counts = Counter(finding.level for finding in report.findings if not finding.waived)
    return -counts["high"], -counts["medium"], _WEIGHT.index(report.outcome), not report.objects


def _document(document: Sequence[Section], rank: float, *, fold: bool = False) -> Part:
    first, *others = document
    about = [
        Part(f"\n{prose(block.text)}\n", rank=rank, name="headlines")
        for block in first.blocks
        if isinstance(block, Item)
    ]
    sections = tuple(map(_section, others))
    if fold:
        sections = (Part(f"\n<details>\n<summary>{FOLDED}</summary>\n", sections, "\n</details>\n"),)
    return Part(f"\n## {prose(first.title)}\n", (*about, *sections))


def _section(section: Section) -> Part:
    rank, name = SECTIONS.get(section.title, OTHER_SECTION)
    parts = tuple(part for block in section.blocks for part in _block(block, rank, name))
    return Part(f"\n### {prose(section.title)}\n", _lists(parts))


def _lists(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts, of which items that follow each other are one list: an empty line stands before it."""
    made = list[Part]()
    for listed, group in itertools.groupby(parts, key=lambda part: part.text.startswith("- ")):
        found = tuple(group)
        made += [Part("\n", found)] if listed else found
    return tuple(made)


def _block(block: Block, rank: float, name: str) -> Iterator[Part]:
    match block:
        case Item():
            yield _item(block, rank, name)
        case Table():
            yield _table(block, rank if rank == STACKS else OTHERS, name if rank == STACKS else "roles")
        case Fold():
            items = tuple(_item(item, OTHERS, "further changes") for item in block.items)
            summary = f"\n<details>\n<summary>{prose(block.title)}</summary>\n"
            yield Part(summary, _lists(items), "\n</details>\n")
        case Drawing():
            yield Part(f"\n{drawing(block.picture)}\n", rank=PICTURE, name=name)


def _item(item: Item, rank: float, name: str) -> Part:
    waived = any(row.label == "waived" for row in item.rows)
    if item.level:
        rank = LOW if waived else LEVELS[item.level]
        name = "waived findings" if waived else f"{item.level} findings"
    level = f"**{item.level.upper()}** " if item.level else ""
    mark = f"{code(item.code)} " if item.code else ""
    shown = [*item.rows[:MOST_DETAILS]]
    if len(item.rows) > MOST_DETAILS:
        shown.append(Row("", f"And {len(item.rows) - MOST_DETAILS} more."))
    rows = tuple(_row(row, rank + _ROWS) for row in shown)
    return Part(f"- {level}{mark}{prose(item.text)}\n", rows, rank=rank, name=name)


def _row(row: Row, rank: float) -> Part:
    label = f"{row.label}: " if row.label else ""
    return Part(f"  - {label}{code(row.text) if row.verbatim else prose(row.text)}\n", rank=rank, name="details")


def _table(table: Table, rank: float, name: str) -> Part:
    names, *others = (f"| {' | '.join(cell(cut(text, LONGEST_CELL)) for text in row)} |\n" for row in table.rows)
    rows = tuple(Part(row, rank=rank, name=name) for row in others)
    return Part(f"\n{names}|{' --- |' * len(table.rows[0])}\n", rows)


# --- what is taken of it


def _paths(part: Part, above: tuple[Part, ...] = ()) -> Iterator[tuple[Part, ...]]:
    """Each part with a rank, behind the parts that it stands in."""
    path = (*above, part)
    if part.rank is not None:
        yield path
    for inner in part.parts:
        yield from _paths(inner, path)


def _taken(whole: Part, room: int) -> set[int]:
    """The parts that fit, by identity. A part that is too long leaves its place to the next ones."""
    taken = set[int]()
    left = room
    for path in sorted(_paths(whole), key=_rank):
        wanted = [part for part in path if id(part) not in taken]
        if any(part.rank is not None for part in wanted[:-1]):
            continue  # it belongs to one that did not fit
        cost = sum(size(part.text) + size(part.end) for part in wanted)
        if cost <= left:
            left -= cost
            taken.update(map(id, wanted))
    return taken


def _rank(path: tuple[Part, ...]) -> float:
    rank = path[-1].rank
    return 0 if rank is None else rank


def _text(part: Part, taken: set[int]) -> str:
    if id(part) not in taken:
        return ""
    return "".join([part.text, *(_text(inner, taken) for inner in part.parts), part.end])


def _left_out(whole: Part, taken: set[int]) -> str:
    """What is left out, counted by name; a part in one that is left out is counted with it."""
    out = [path for path in _paths(whole) if id(path[-1]) not in taken]
    counts = Counter(path[-1].name for path in out)
    if not counts:
        return ""
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda pair: pair[0]))
    return f"\n**Left out, because a comment has an end:** {told}.\n"
