"""The release that a stack follows, and what the stack lacks."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.review.jobs_of_previews import context
from tests.support.samples import environment
from trainform.deployed.releases.evidence import Lack
from trainform.review.findings.promotion import find

NAME = "8c1f0a2b77de41d09c36"
PROD = environment(name="prod", promotion={"from": ["dev"]})


def lack(kind: Any, **parts: Any) -> Lack:
    return Lack(kind, "resnet", PROD, "resnet.prod", **parts)


def test_what_a_stack_lacks_is_a_finding() -> None:
    elsewhere = lack("elsewhere", release=NAME, found="resnet.staging")
    unreadable = lack("unreadable", release=NAME)
    given = (elsewhere, lack("gate", release=NAME, gate="soak"), lack("none"), unreadable)
    other, gate, none, unread = find(dataclasses.replace(context(), lacks=given))
    assert (other.code, other.level, other.object, other.field) == ("TR-PROMOTION-1", "high", NAME, "promoted.to")
    assert (other.after, other.title) == ("resnet.staging", elsewhere.text)
    assert (gate.code, gate.level, gate.field) == ("TR-PROMOTION-2", "medium", "promoted.gates.soak")
    assert (none.code, none.level, none.object) == ("TR-PROMOTION-3", "high", "resnet.prod")
    assert none.place is not None
    assert (none.place.file, none.place.path) == ("stacks/Pulumi.resnet.prod.yaml", "trainform:release")
    assert (unread.code, unread.after, unread.title) == ("TR-PROMOTION-1", None, unreadable.text)
    assert [other.code, gate.code, none.code] == [f"TR-PROMOTION-{number}" for number in (1, 2, 3)]


def test_a_stack_that_lacks_nothing_has_no_finding() -> None:
    assert [*find(context())] == []
