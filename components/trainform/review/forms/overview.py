"""A review as documents, one for each stack. Of several stacks, a summary stands first: which one asks for a closer
look, and what they cost in sum."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.review.forms.document import cost_items, levels, per_hour, sections, share
from trainform.review.forms.sections import Block, Item, Section, Table, bounded, counted
from trainform.review.model import Outcome, Report, Review, Selection

COLUMNS = ("stack", "what happens", "outcome", "findings", "cost per hour", "capacity")
FOLDED = "The report on this stack"
"""What stands above a report that is folded."""
MOST_FILES = 5
"""Files that are named for a stack; the JSON has all of them."""
FITS = {
    "now": "fits now",
    "later": "fits when others finish",
    "never": "never fits",
    "unknown": "not known",
    "unchanged": "unchanged",
}


def documents(review: Review) -> list[list[Section]]:
    """The documents in the order in which they are read; the first section of each has its title."""
    most = share(len(review.stacks))
    each = [sections(report, most) for report in review.stacks]
    return each if len(each) == 1 and review.selection is None else [_summary(review), *each]


def weighs(report: Report) -> bool:
    """True if the report of the stack is not to be folded: something is destroyed, or there is something to be said."""
    return report.outcome in (Outcome.failed, Outcome.findings) or any(change.destructive for change in report.objects)


def _summary(review: Review) -> list[Section]:
    chosen = review.selection
    found = levels(finding for report in review.stacks for finding in report.findings)
    outcome = Item(f"Outcome: {review.outcome.value}{f' ({found})' if found else ''}.")
    first = [*_without_preview(review), outcome]
    made = [Section(f"Review of {counted(len(review.stacks), 'stack')}", tuple(first))]
    if review.stacks:
        made.append(Section("Stacks", (Table((COLUMNS, *map(_row, review.stacks))),)))
    if chosen is not None:
        made.append(Section(f"Touched since {chosen.since}", tuple(_touched(chosen))))
    if len(review.stacks) > 1:
        made.append(Section("Cost in sum", tuple(cost_items(review.cost))))
    return bounded(made)


def _without_preview(review: Review) -> Iterator[Item]:
    """What is said of stacks that are gone, and of a review of no stack: first of all, since no report is of them."""
    if review.selection is None:
        return
    since, removed = review.selection.since, review.selection.removed
    yield from (Item(gone(stack)) for stack in removed)
    if not review.stacks:
        yield Item(f"No {'other ' if removed else ''}stack is touched by what changed since {since}.")


def _touched(chosen: Selection) -> Iterator[Block]:
    """Which files touch which stack."""
    if chosen.touched:
        rows = ((stack, list_names(files, MOST_FILES)) for stack, files in chosen.touched.items())
        yield Table((("stack", "changed files"), *rows))
    yield Item(f"The change began at the commit {chosen.base}.")


def gone(stack: str) -> str:
    """What is said of a stack whose file of config is gone."""
    why = f"The file of config of the stack {stack} is gone, so there is no preview of it"
    return f"{why}: its resources stay in the cluster until `pulumi destroy -s {stack}`."


def _row(report: Report) -> tuple[str, ...]:
    found = levels(report.findings)
    return (
        report.stack,
        report.headline,
        report.outcome.value,
        found if found else "none",
        per_hour(report.cost),
        FITS[report.capacity.verdict],
    )
