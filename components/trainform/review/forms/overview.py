"""A review as documents, one for each stack. Of several stacks, a summary stands first: which one asks for a closer look, and what they cost in sum."""

from __future__ import annotations

from trainform.review.forms.document import Item, Section, Table, bounded, cost_items, levels, per_hour, sections
from trainform.review.model import Report, Review

COLUMNS = ("stack", "what happens", "outcome", "findings", "cost per hour", "capacity")
FITS = {
    "now": "fits now",
    "later": "fits when others finish",
    "never": "never fits",
    "unknown": "not known",
    "unchanged": "unchanged",
}


def documents(review: Review) -> list[list[Section]]:
    """The documents in the order in which they are read; the first section of each has its title."""
    each = [sections(report) for report in review.stacks]
    return each if len(each) == 1 else [_summary(review), *each]


def _summary(review: Review) -> list[Section]:
    found = levels(finding for report in review.stacks for finding in report.findings)
    outcome = Item(f"Outcome: {review.outcome.value}{f' ({found})' if found else ''}.")
    return bounded([
        Section(f"Review of {len(review.stacks)} stacks", (outcome,)),
        Section("Stacks", (Table((COLUMNS, *map(_row, review.stacks))),)),
        Section("Cost in sum", tuple(cost_items(review.cost))),
    ])  # fmt: skip


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
