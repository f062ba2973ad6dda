"""Findings about the release that a stack names: whether it was promoted to this stack, and under the gates of its environment."""

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
    "The environment asks for gates, and nobody has judged them for this stack: its file was edited, and `trainform promote` did not write it.",
    "Run `trainform promote` to this stack: it judges the gates, and the stack names a release of its own.",
)
NOT_JUDGED = Kind(
    "TR-PROMOTION-2",
    Category.promotion,
    "medium",
    "The environment asks for a gate that nobody judged when the release of the stack was promoted.",
    "The gate is younger than the release, which says what was asked for then.",
    "Run `trainform promote` to this stack again, or have the platform team say that this release may stay.",
)
KINDS = (ELSEWHERE, NOT_JUDGED)


def find(context: Context) -> Iterator[Finding]:
    """What the release lacks, by its evidence."""
    for lack in context.lacks:
        if lack.gate:
            yield NOT_JUDGED.finding(lack.release, f"promoted.gates.{lack.gate}", title=lack.text)
        else:
            yield ELSEWHERE.finding(lack.release, "promoted.to", after=lack.target, title=lack.text)
