"""The release that a stack names, and what it lacks."""

from __future__ import annotations

import dataclasses

from tests.review.jobs_of_previews import context
from trainform.releases.evidence import Lack
from trainform.review.findings.promotion import KINDS, find

NAME = "8c1f0a2b77de41d09c36"
ELSEWHERE = Lack("", NAME, "resnet.staging", "The stack resnet.prod names a release of another stack.")
YOUNGER = Lack("soak", NAME, "resnet.prod", "The environment prod asks for the gate soak.")


def test_what_a_release_lacks_is_a_finding() -> None:
    other, gate = find(dataclasses.replace(context(), lacks=(ELSEWHERE, YOUNGER)))
    assert (other.code, other.level, other.object, other.field) == ("TR-PROMOTION-1", "high", NAME, "promoted.to")
    assert (other.after, other.title) == ("resnet.staging", ELSEWHERE.text)
    assert (gate.code, gate.level, gate.field) == ("TR-PROMOTION-2", "medium", "promoted.gates.soak")
    assert [kind.code for kind in KINDS] == [other.code, gate.code]


def test_a_release_that_lacks_nothing_is_none() -> None:
    assert [*find(context())] == []
