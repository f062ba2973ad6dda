"""Each gate refuses what it is there for, and nothing else; a waiver counts only from whom the environment names."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from msgspec import structs

from tests.support.leaks import OTHER_HUB_TOKEN as TOKEN
from trainform.backends.outcome import Outcome
from trainform.deployed.releases.gates import (
    CHANGED,
    GATES,
    NAMES,
    WORDS,
    Facts,
    GateResult,
    judge,
    needs_release,
    waiver_problems,
)
from trainform.deployed.releases.release import GateWaiver
from trainform.spec.environment import Environment, Promotion

NOW = datetime.datetime(2026, 3, 3, 10, 0, tzinfo=datetime.UTC)
DONE = "2026-03-02T09:30:05Z"
PASSING = Facts("dev", Outcome("succeeded", DONE), (), "9f2c4e1", False, NOW)
LEAD = "Ada Lovelace <ada@example.com>"


def environment(**asked: Any) -> Environment:
    return Environment.model_validate({"name": "prod", "namespace": {"name": "ai-production"}, "promotion": asked})


def judged(gate: str, facts: Facts, *waivers: GateWaiver, **asked: Any) -> GateResult:
    (found,) = [each for each in judge(environment(**asked), facts, waivers) if each.gate == gate]
    return found


def test_an_environment_asks_for_nothing_unless_it_says_so() -> None:
    nothing = Facts("elsewhere", None, ("image",), "", None, NOW)
    assert judge(environment(), nothing) == ()


@pytest.mark.parametrize(
    ("asked", "needed"),
    [({}, False), ({"digest": True}, True), ({"digest": True, "required": False}, False), ({"required": True}, True)],
)
def test_an_environment_with_a_gate_needs_releases_unless_it_says_so(asked: dict[str, Any], needed: bool) -> None:
    assert needs_release(environment(**asked).promotion) is needed


def test_every_gate_is_a_field_and_has_a_row() -> None:
    assert tuple(GATES) == NAMES
    fields = {field.alias or name for name, field in Promotion.model_fields.items()}
    assert fields == {*NAMES, "waivable", "required"}


ASKED = {"from": ["dev"], "succeeded": True, "digest": True, "soak": "24h", "clean": True}
UNKNOWN_TIME = "the time at which the job of the source succeeded is unknown"
NO_COMMIT = "Pulumi's history has no commit of git for the last `pulumi up` of the source"
IN_PART = "the job of the source has " + WORDS["succeeded in part"]
EARLY = "the job of the source succeeded less than 24h ago, at 2026-03-02T10:00:01Z"
DIRTY = "the last `pulumi up` of the source ran with changes that were not in the commit 9f2c4e1"
REFUSED = [
    ("from", {"environment": "scratch"}, "releases come from dev only, and the source is in the environment scratch"),
    ("succeeded", {"outcome": None}, "the job of the source no longer exists, so its outcome is unknown"),
    ("succeeded", {"outcome": Outcome()}, "the job of the source has not ended yet"),
    ("succeeded", {"outcome": Outcome("failed", DONE)}, "the job of the source has failed"),
    ("succeeded", {"outcome": Outcome("stopped", DONE)}, "the job of the source has been stopped"),
    ("succeeded", {"outcome": Outcome("succeeded in part", DONE)}, IN_PART),
    ("succeeded", {"changed": True}, CHANGED),
    ("soak", {"changed": True}, CHANGED),
    ("digest", {"tags": ("image",)}, "image names an image without a digest"),
    ("digest", {"tags": ("image", "roles.eval.image")}, "image, roles.eval.image name an image without a digest"),
    ("soak", {"outcome": Outcome("failed", DONE)}, "the job of the source has failed"),
    ("soak", {"outcome": Outcome("succeeded", "2026-03-02T10:00:01Z")}, EARLY),
    ("soak", {"outcome": Outcome("succeeded")}, UNKNOWN_TIME),
    ("soak", {"outcome": Outcome("succeeded", "2026-03-02T09:30:05")}, UNKNOWN_TIME),
    ("clean", {"commit": ""}, NO_COMMIT),
    ("clean", {"dirty": None}, NO_COMMIT),
    ("clean", {"dirty": True}, DIRTY),
]


def test_a_source_that_meets_everything_passes_every_gate() -> None:
    assert {each.result for each in judge(environment(**ASKED), PASSING)} == {"passed"}


def test_exactly_the_time_of_the_soak_is_enough() -> None:
    done = structs.replace(PASSING, outcome=Outcome("succeeded", "2026-03-02T10:00:00Z"))
    assert judged("soak", done, soak="24h").result == "passed"


@pytest.mark.parametrize(("gate", "changed", "reason"), REFUSED)
def test_a_gate_refuses_with_reason_and_fix(gate: str, changed: dict[str, Any], reason: str) -> None:
    facts = structs.replace(PASSING, **changed)
    found = judged(gate, facts, **ASKED)
    assert (found.result, found.reason) == ("refused", reason)
    assert found.fix
    others = {name: value for name, value in ASKED.items() if name != gate}
    assert gate not in {each.gate for each in judge(environment(**others), facts)}


@pytest.mark.parametrize("named", ["Ada Lovelace", "ada@example.com", LEAD])
def test_who_is_named_may_waive(named: str) -> None:
    waiver = GateWaiver(gate="soak", reason="the fix is for an outage", by=LEAD)
    assert [*waiver_problems([waiver], environment(soak="24h"))] == []
    late = structs.replace(PASSING, outcome=None)
    found = judged("soak", late, waiver, soak="24h", waivable={"soak": [named]})
    assert (found.result, found.waiver) == ("waived", waiver)
    assert found.reason.startswith("the job of the source no longer exists")


@pytest.mark.parametrize(
    ("waivable", "reason"),
    [
        ({}, "it cannot be waived here"),
        ({"digest": ["ada@example.com"]}, "it cannot be waived here"),
        (
            {"soak": ["grace@example.com", "Ada"]},
            "grace@example.com, Ada may waive it here, not Ada Lovelace <ada@example.com>",
        ),
    ],
)
def test_a_waiver_of_anybody_else_does_not_count(waivable: dict[str, list[str]], reason: str) -> None:
    facts = structs.replace(PASSING, outcome=Outcome("failed", DONE))
    found = judged("soak", facts, GateWaiver(gate="soak", reason="urgent", by=LEAD), soak="24h", waivable=waivable)
    assert (found.result, found.waiver) == ("refused", None)
    assert found.reason == f"the job of the source has failed, and {reason}"


def test_a_gate_that_passes_takes_no_waiver() -> None:
    waiver = GateWaiver(gate="soak", reason="urgent", by=LEAD)
    found = judged("soak", PASSING, waiver, soak="24h", waivable={"soak": [LEAD]})
    assert (found.result, found.waiver) == ("passed", None)


def test_a_refusal_says_who_may_waive_it() -> None:
    facts = structs.replace(PASSING, dirty=True)
    fix = judged("clean", facts, clean=True, waivable={"clean": ["ada@example.com"]}).fix
    assert fix.endswith("and promote that; or ada@example.com may waive it: --waive clean --reason …")


@pytest.mark.parametrize(
    ("gate", "reason", "problem"),
    [
        ("soack", "urgent", ("--waive", "this is not a gate", "did you mean soak?")),
        ("all", "urgent", ("--waive", "this is not a gate", "known: from, succeeded, digest, soak, clean")),
        ("digest", "urgent", ("--waive", "the environment prod does not set this gate", "leave it out")),
        ("soak", " … ", ("--reason", "no reason is given", "write why, for those who read the release")),
        ("soak", "the r\udce9seau is down", ("--reason", "the reason is not UTF-8", "write it in UTF-8")),
        ("soak", f"see {TOKEN}", ("--reason", "the reason holds what looks like a secret", "leave it out")),
    ],
)
def test_what_is_wrong_with_a_waiver_itself(gate: str, reason: str, problem: tuple[str, ...]) -> None:
    (found,) = waiver_problems([GateWaiver(gate=gate, reason=reason, by=LEAD)], environment(soak="24h"))
    assert (found.path, found.reason, found.fix) == problem
