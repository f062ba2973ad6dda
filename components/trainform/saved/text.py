"""What `trainform apply` found in sentences, the same for every form that people read: the sections and the forms are
those of a review."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review.forms.sections import Item, Row, Section, bounded, shown
from trainform.saved.model import Moved, Verdict

OF_OBJECTS = ("object", "step", "provider")
OUTCOMES = {
    "unmoved": "Nothing has moved since the review of {at}: `trainform apply` without --check applies it.",
    "moved": "Something has moved since the review of {at}, so nothing was changed.",
    "applied": "What was reviewed at {at} is applied.",
    "failed": "`pulumi up` of what was reviewed at {at} has failed: its output says why.",
}


def sections(verdict: Verdict) -> list[Section]:
    """What came of it, what has moved, what was not compared, and what to do."""
    outcome = OUTCOMES[verdict.result].format(at=verdict.reviewed)
    return bounded([
        Section(f"Apply of {verdict.stack}", (Item(outcome),)),
        Section("Moved", tuple(_items(verdict.moved))),
        Section("Not compared", tuple(map(Item, verdict.not_compared))),
        Section("What to do", (Item(verdict.fix),) if verdict.fix else ()),
    ])  # fmt: skip


def _items(moved: list[Moved]) -> Iterator[Item]:
    """Each sentence once, with all that it is true of."""
    for sentence in dict.fromkeys(each.sentence for each in moved):
        yield Item(sentence, tuple(row for each in moved if each.sentence == sentence for row in _rows(each)))


def _rows(each: Moved) -> Iterator[Row]:
    """The place and its values. A sentence that names the object is not followed by its name again, nor by its
    identity, which nobody knows."""
    place = each.path.partition(": ")[2] if each.what in OF_OBJECTS else each.path
    if each.was is None and each.now is None:
        yield Row("", place, verbatim=True)
    elif place:
        yield Row("", f"{place}: {shown(each.was)} -> {shown(each.now)}", verbatim=True)
    elif each.what != "object":
        yield Row("", f"{shown(each.was)} -> {shown(each.now)}", verbatim=True)
