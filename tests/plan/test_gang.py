"""Who must be placed together, and what happens when a pod fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import WITH_EXTRAS, experiment, job, plan, reasons
from trainform.plan.gang import gang
from trainform.plan.restart import role_policies

ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 3, "max_nodes": 8}}}
WATCHER: dict[str, Any] = {"replicas": 4, "ranked": False, "command": ["python", "watch.py"]}


def test_everybody_by_default() -> None:
    assert gang(experiment(roles=WITH_EXTRAS)) == {"master": 1, "worker": 3, "evaluation-watcher": 4}


def test_as_said() -> None:
    made = plan(roles={"worker": {"replicas": 3}, "watcher": {**WATCHER, "min_available": 0}})
    assert [role.min_available for role in made.roles] == [3, 0]
    spec = job(made)["spec"]
    assert spec["minAvailable"] == 3
    assert [task["minAvailable"] for task in spec["tasks"]] == [3, 0]


@pytest.mark.parametrize(
    ("master", "workers", "expected"), [(1, 4, [1, 2]), (4, 2, [3, 0]), (3, 1, [3, 0]), (1, 2, [1, 2])]
)
def test_an_elastic_job_needs_its_fewest_nodes(master: int, workers: int, expected: list[int]) -> None:
    roles = {"master": {"replicas": master}, "worker": {"replicas": workers}, "watcher": WATCHER}
    assert list(gang(experiment(launcher=ELASTIC, roles=roles)).values()) == [*expected, 4]


def test_nobody_is_no_gang() -> None:
    found = reasons(roles={"worker": {"replicas": 2, "min_available": 0}})
    assert found == {"roles": "have min_available 0 together, and Volcano then takes all pods"}


def actions(**parts: Any) -> dict[str, list[tuple[str | None, str]]]:
    policies = role_policies(experiment(**parts))
    return {role: [(policy.event, policy.action) for policy in found] for role, found in policies.items()}


FAILURE, END = ("PodFailed", "TerminateJob"), ("TaskCompleted", "CompleteJob")


def test_the_plans_own_policies() -> None:
    assert actions() == {"worker": [FAILURE]}
    assert actions(roles=WITH_EXTRAS) == {"master": [FAILURE, END], "worker": [FAILURE], "evaluation-watcher": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}}) == {"worker": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}, "watcher": WATCHER}) == {
        "worker": [END],
        "watcher": [],
    }


def test_the_users_policies_win() -> None:
    restart = {"event": "PodEvicted", "action": "RestartJob"}
    assert actions(policies=[restart]) == {"worker": []}
    assert actions(policies=[]) == {"worker": []}
    assert actions(roles={"worker": {"policies": [restart]}}) == {"worker": [("PodEvicted", "RestartJob")]}
    assert actions(roles={"worker": {"policies": []}}) == {"worker": []}
    made = plan(policies=[{**restart, "timeout": "1h30m"}, {"exit_code": 137, "action": "RestartTask"}])
    assert job(made)["spec"]["policies"] == [
        {"action": "RestartJob", "event": "PodEvicted", "timeout": "5400s"},
        {"action": "RestartTask", "exitCode": 137},
    ]
