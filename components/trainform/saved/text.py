"""The answer of `trainform apply` in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review.forms.sections import Item, Row, Section, bounded, shown
from trainform.saved.model import Moved, Verdict

OUTCOMES = {
    "unmoved": "Nothing has moved since the review of {at}: `trainform apply` without --check applies it.",
    "moved": "Something has moved since the review of {at}, so nothing was changed.",
    "applied": "The review of {at} is applied.",
    "failed": "`pulumi up` of the review of {at} failed: its output says why.",
}


def sections(verdict: Verdict) -> list[Section]:
    """Return the outcome, what has moved, what was not compared, and what to do."""
    outcome = OUTCOMES[verdict.result].format(at=verdict.reviewed)
    return bounded([
        Section(f"Apply of {verdict.stack}", (Item(outcome),)),
        Section("Moved", tuple(_items(verdict.moved))),
        Section("Not compared", tuple(map(Item, verdict.not_compared))),
        Section("What to do", (Item(verdict.fix),) if verdict.fix else ()),
    ])  # fmt: skip


def _items(moved: list[Moved]) -> Iterator[Item]:
    """Return each sentence once, with its places."""
    for sentence in dict.fromkeys(each.sentence for each in moved):
        yield Item(sentence, tuple(_row(each) for each in moved if each.sentence == sentence))


def _row(each: Moved) -> Row:
    if each.was is None and each.now is None:
        return Row("", each.path, verbatim=True)
    return Row("", f"{each.path}: {shown(each.was)} -> {shown(each.now)}", verbatim=True)
