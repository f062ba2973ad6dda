"""Findings about the release of a stack: whether there is one, whether it was promoted to this stack, and under the
gates of its environment."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.project import stack_path
from trainform.releases.evidence import ANOTHER_STACK, LATER_GATE, NO_RELEASE
from trainform.review.context import Context
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding, Place
from trainform.spec.release import SETTING

ELSEWHERE = Kind(
    ANOTHER_STACK,
    Category.promotion,
    "high",
    "The stack follows a release that was promoted to another stack.",
    "The gates of the environment were not judged for this stack: its file was edited.",
    "Run `trainform promote` to this stack, which judges the gates.",
)
WITHOUT_GATE = Kind(
    LATER_GATE,
    Category.promotion,
    "medium",
    "The release of the stack does not have a gate that the environment sets now.",
    "Gates are judged when a release is promoted. A gate was added or tightened since then, or the release was not "
    "written by `trainform promote`.",
    "Run `trainform promote` to this stack again: from a source that `promotion.from` names, if it names any, or "
    "with `--waive GATE` where the environment allows it.",
)
WITHOUT_RELEASE = Kind(
    NO_RELEASE,
    Category.promotion,
    "high",
    "The stack follows no release, and its environment takes releases only.",
    "Nothing has judged the gates of the environment: the stack follows the experiment's file. `pulumi up` refuses it.",
    "Run `trainform promote` to this stack. `promotion: {required: false}` in the environment's file allows stacks "
    "without a release.",
)
KINDS = (ELSEWHERE, WITHOUT_GATE, WITHOUT_RELEASE)


def find(context: Context) -> Iterator[Finding]:
    """Find what the stack lacks, by the evidence in its release."""
    for lack in context.lacks:
        if lack.gate:
            yield WITHOUT_GATE.finding(lack.release, f"promoted.gates.{lack.gate}", title=lack.text)
            continue
        place = Place(path=SETTING, file=stack_path(lack.stack))
        if lack.release:
            found = lack.found if lack.found else None
            yield ELSEWHERE.finding(lack.release, "promoted.to", after=found, title=lack.text, place=place)
        else:
            yield WITHOUT_RELEASE.finding(lack.stack, SETTING, title=lack.text, place=place)
