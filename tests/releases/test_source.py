"""Of which stack the record is from which a release is made. All else is read live:
`tests/engine/test_promotion.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from tests.deployed import test_state
from trainform.deployed.earlier import EarlierDeployment
from trainform.deployed.records import Deployed
from trainform.errors import ClusterError, TrainformError
from trainform.plan.record import Record
from trainform.releases.source import is_another_run, last_up, record_of, refuse_edited

STACK = "vision/bert.prod"
RECORD = structs.replace(test_state.RECORD, environment={"backend": "volcano"})


def found(annotations: dict[str, str] | None) -> Deployed:
    return Deployed("bert", "prod", "ai-production", RECORD, {"name": "bert-deployed", "annotations": annotations})


def test_the_record_of_the_stack() -> None:
    assert record_of(found({"trainform.dev/stack": STACK}), STACK, "bert") is RECORD


@pytest.mark.parametrize("other", ["vision/bert.dev", "speech/bert.prod"])
def test_the_record_of_another_stack_or_of_the_same_name_in_another_project(other: str) -> None:
    with pytest.raises(ClusterError) as raised:
        record_of(found({"trainform.dev/stack": other}), STACK, "bert")
    assert raised.value.lines() == [
        f"what is deployed there of bert is of the stack {other}, and not of {STACK}",
        f"  fix: promote it from {other}; if this stack had that name before, `pulumi up -s bert.prod` says what to do",
    ]


@pytest.mark.parametrize("annotations", [None, {}, {"trainform.dev/stack": ""}])
def test_a_record_that_names_no_stack(annotations: dict[str, str] | None) -> None:
    with pytest.raises(ClusterError) as raised:
        record_of(found(annotations), STACK, "bert")
    assert raised.value.lines() == [
        "what is deployed there of bert does not say of which stack it is",
        f"  fix: if it is of {STACK}: `pulumi up --refresh --skip-preview -s bert.prod` writes it",
    ]


def test_a_record_as_the_engine_has_written_it() -> None:
    refuse_edited(RECORD, structs.replace(RECORD), STACK, "bert")


@pytest.mark.parametrize(
    ("written", "what"),
    [
        (structs.replace(RECORD, experiment={"name": "bert", "image": "a:1"}), "`experiment` of it differs"),
        (structs.replace(RECORD, run=7, base={"name": "bert"}), "`run`, `base` of it differ"),
        (structs.replace(RECORD, version=None), "`version` of it differs"),
        (None, "`revision`, `job`, `run`, `experiment`, `environment`, `version` of it differ"),
    ],
)
def test_a_record_that_somebody_has_edited_in_the_cluster(written: Record | None, what: str) -> None:
    with pytest.raises(ClusterError) as raised:
        refuse_edited(RECORD, written, STACK, "bert")
    assert raised.value.lines() == [
        (
            f"the record of bert in the cluster is not what Pulumi's state of {STACK} has, so somebody has edited "
            f"it: {what}"
        ),
        "  fix: `pulumi up --refresh --skip-preview -s bert.prod` records it anew",
    ]


def test_no_record() -> None:
    with pytest.raises(
        ClusterError, match=r"the cluster has no record of bert as deployed by the stack vision/bert\.prod"
    ):
        record_of(None, STACK, "bert")


UP = test_state.UP


def test_the_last_up_is_that_after_which_nothing_has_changed_an_object() -> None:
    refreshed = structs.replace(UP, kind="refresh")
    assert last_up("bert.prod", [refreshed, UP]) is UP


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"result": "failed"}, "the last `pulumi up` of the stack bert.prod failed, so that"),
        ({"result": "in-progress"}, "the last `pulumi up` of the stack bert.prod has not ended, so that"),
        (
            {"in_part": True},
            r"the last `pulumi up` of the stack bert.prod was for a part of it \(`--target` or `--exclude`\), so that",
        ),
        ({"kind": "destroy"}, "the stack bert.prod was destroyed, and nothing is deployed there"),
        ({"kind": "destroy", "in_part": True}, "the last `pulumi destroy` of the stack bert.prod was for a part of it"),
        ({"kind": "destroy", "result": "failed"}, "the last `pulumi destroy` of the stack bert.prod failed, so that"),
    ],
)
def test_after_anything_else_nobody_knows_what_runs(parts: dict[str, Any], reason: str) -> None:
    with pytest.raises(TrainformError, match=reason) as raised:
        last_up("bert.prod", [structs.replace(UP, **parts), UP])
    assert raised.value.fix == "`pulumi up -s bert.prod` first, and promote what runs well"


ENDED = "2026-11-20T10:00:00Z"
FIRST = structs.replace(UP, started="2026-11-20T09:00:00Z", ended="2026-11-20T09:02:00Z")
LATER = structs.replace(UP, started="2026-11-20T11:00:00Z", ended="2026-11-20T11:02:00Z")
RAN = structs.replace(RECORD, experiment={"name": "bert", "ttl": "12h", "roles": {"worker": {"replicas": 2}}})


@pytest.mark.parametrize(
    ("parts", "changed"),
    [
        ({"ttl": "72h"}, False),
        ({"ttl": None}, False),
        ({"roles": {"worker": {"replicas": 8}}}, True),
        ({"ttl": "72h", "min_available": 1}, True),
    ],
)
def test_a_change_of_the_ttl_touches_nothing_that_has_run(parts: dict[str, Any], changed: bool) -> None:
    now = structs.replace(RAN, experiment={**RAN.experiment, **parts})
    earlier = [EarlierDeployment(LATER, now), EarlierDeployment(FIRST, RAN)]
    assert is_another_run(now, earlier, [LATER, FIRST], ENDED) is changed


def test_what_nobody_knows_counts_as_another_run() -> None:
    def no_states() -> Iterator[EarlierDeployment]:
        raise TrainformError("the backend s3://states does not give out what was deployed earlier")
        yield

    failed = structs.replace(LATER, result="failed")
    first = EarlierDeployment(FIRST, RAN)
    assert not is_another_run(RAN, [first], [FIRST], ENDED)
    assert is_another_run(RAN, [first], [LATER, failed, FIRST], ENDED), "it may have changed the job half way"
    assert is_another_run(RAN, [EarlierDeployment(LATER, RAN)], [LATER], ENDED), "its first state is gone"
    assert is_another_run(RAN, no_states(), [FIRST], ENDED)
