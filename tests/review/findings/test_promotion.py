"""The release that a stack names, and what it lacks."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.review.jobs_of_previews import context
from tests.support.releases import PROMOTED, release
from tests.support.samples import environment
from trainform.releases.evidence import Lack, lacks
from trainform.review.findings.promotion import KINDS, find

NAME = "8c1f0a2b77de41d09c36"
ELSEWHERE = Lack("", NAME, "resnet.staging", "The stack resnet.prod names a release of another stack.")
UNREADABLE = Lack("", NAME, "", "The stack resnet.prod names a release that nobody can read.")
YOUNGER = Lack("soak", NAME, "resnet.prod", "The environment prod asks for the gate soak.")


def test_what_a_release_lacks_is_a_finding() -> None:
    other, gate = find(dataclasses.replace(context(), lacks=(ELSEWHERE, YOUNGER)))
    assert (other.code, other.level, other.object, other.field) == ("TR-PROMOTION-1", "high", NAME, "promoted.to")
    assert (other.after, other.title) == ("resnet.staging", ELSEWHERE.text)
    assert (gate.code, gate.level, gate.field) == ("TR-PROMOTION-2", "medium", "promoted.gates.soak")
    (unread,) = find(dataclasses.replace(context(), lacks=(UNREADABLE,)))
    assert (unread.code, unread.after, unread.title) == ("TR-PROMOTION-1", None, UNREADABLE.text)
    assert [kind.code for kind in KINDS] == [other.code, gate.code]


@pytest.mark.parametrize(
    ("gates", "asked"),
    [
        ({}, {"succeeded": True}),
        ({"succeeded": "refused"}, {"succeeded": True}),
        ({"from": "passed"}, {"from": ["staging"]}),
    ],
    ids=["younger", "forged", "of another source"],
)
def test_the_finding_is_true_of_every_way_to_lack_a_gate(gates: dict[str, str], asked: dict[str, Any]) -> None:
    """Somebody may have judged the gate, before the environment took its source away: to promote from there again is
    refused then."""
    made = release(PROMOTED.model_copy(update={"gates": gates}))
    found = tuple(lacks(PROMOTED.target, made, environment(name="prod", promotion=asked)))
    (gate,) = find(dataclasses.replace(context(), lacks=found))
    told = f"{KINDS[1].title} {gate.title} {gate.why}"
    assert [claim for claim in ("nobody", "younger") if claim in told] == []
    assert "`promotion.from`" in gate.fix
    assert "`--waive GATE`" in gate.fix


def test_a_release_that_lacks_nothing_is_none() -> None:
    assert [*find(context())] == []
