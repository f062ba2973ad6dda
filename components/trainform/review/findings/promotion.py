"""Findings about the release that a stack names: whether it was promoted to this stack, and under the gates of its
environment."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review.context import Context
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding

ELSEWHERE = Kind(
    "TR-PROMOTION-1",
    Category.promotion,
    "high",
    "The stack names a release that was promoted to another stack.",
    "The environment asks for gates, and nobody has judged them for this stack: its file was edited, and `trainform "
    "promote` did not write it.",
    "Run `trainform promote` to this stack: it judges the gates, and the stack names a release of its own.",
)
WITHOUT_GATE = Kind(
    "TR-PROMOTION-2",
    Category.promotion,
    "medium",
    "The release of the stack does not have a gate that the environment asks for now.",
    "Gates are judged when a release is promoted. The environment asks for something else now, or `trainform "
    "promote` did not write the release.",
    "Run `trainform promote` to this stack again: from a source that `promotion.from` names, if it names any, or "
    "with `--waive GATE` where the environment allows it.",
)
KINDS = (ELSEWHERE, WITHOUT_GATE)


def find(context: Context) -> Iterator[Finding]:
    """What the release lacks, by its evidence."""
    for lack in context.lacks:
        if lack.gate:
            yield WITHOUT_GATE.finding(lack.release, f"promoted.gates.{lack.gate}", title=lack.text)
        else:
            target = lack.target if lack.target else None
            yield ELSEWHERE.finding(lack.release, "promoted.to", after=target, title=lack.text)
