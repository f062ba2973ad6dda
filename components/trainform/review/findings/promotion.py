"""Findings about the release of a stack, by the evidence in it and the gates of the environment."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.project import stack_path
from trainform.review.context import Context
from trainform.review.kinds import kind
from trainform.review.model import Finding, Place
from trainform.spec.release import SETTING

ELSEWHERE = kind("TR-PROMOTION-1")
WITHOUT_GATE = kind("TR-PROMOTION-2")
WITHOUT_RELEASE = kind("TR-PROMOTION-3")


def find(context: Context) -> Iterator[Finding]:
    """Find what the stack lacks, by the evidence in its release."""
    for lack in context.lacks:
        place = Place(path=SETTING, file=stack_path(lack.stack))
        if lack.gate:
            yield WITHOUT_GATE.finding(lack.release, f"promoted.gates.{lack.gate}", title=lack.text)
        elif lack.release:
            yield ELSEWHERE.finding(lack.release, "promoted.to", after=lack.found or None, title=lack.text, place=place)
        else:
            yield WITHOUT_RELEASE.finding(lack.stack, SETTING, title=lack.text, place=place)
