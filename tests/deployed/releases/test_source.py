"""The last `pulumi up` of a source, and changes after its end. Everything else is read live:
`tests/engine/test_promotion.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from tests.deployed import test_state
from trainform.deployed.earlier import EarlierDeployment
from trainform.deployed.releases.source import is_another_run, last_up
from trainform.errors import TrainformError

UP = test_state.UP


def test_the_last_up_is_that_after_which_nothing_has_changed_an_object() -> None:
    refreshed = structs.replace(UP, kind="refresh")
    assert last_up("bert.prod", [refreshed, UP]) is UP


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"result": "failed"}, "the last `pulumi up` of the stack bert.prod failed; what runs"),
        ({"result": "in-progress"}, "the last `pulumi up` of the stack bert.prod has not ended; what runs"),
        (
            {"in_part": True},
            r"the last `pulumi up` of the stack bert.prod was for a part of it \(`--target` or `--exclude`\);",
        ),
        ({"kind": "destroy"}, "the stack bert.prod was destroyed, and nothing is deployed there"),
        ({"kind": "destroy", "in_part": True}, "the last `pulumi destroy` of the stack bert.prod was for a part of it"),
        ({"kind": "destroy", "result": "failed"}, "the last `pulumi destroy` of the stack bert.prod failed; what runs"),
    ],
)
def test_after_anything_else_nobody_knows_what_runs(parts: dict[str, Any], reason: str) -> None:
    with pytest.raises(TrainformError, match=reason) as raised:
        last_up("bert.prod", [structs.replace(UP, **parts), UP])
    assert raised.value.fix == "`pulumi up -s bert.prod` first, and promote what runs well"


ENDED = "2026-11-20T10:00:00Z"
FIRST = structs.replace(UP, started="2026-11-20T09:00:00Z", ended="2026-11-20T09:02:00Z")
LATER = structs.replace(UP, started="2026-11-20T11:00:00Z", ended="2026-11-20T11:02:00Z")
RAN = structs.replace(
    test_state.RECORD, experiment={"name": "bert", "ttl": "12h", "roles": {"worker": {"replicas": 2}}}
)


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
