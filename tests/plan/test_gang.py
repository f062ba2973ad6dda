"""Who must be placed together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import experiment, job, plan, reasons
from trainform.plan.roles import gang

ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 3, "max_nodes": 8}}}
WATCHER: dict[str, Any] = {"replicas": 4, "ranked": False, "command": ["python", "watch.py"]}


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


def test_a_gang_without_pods_is_refused() -> None:
    found = reasons(roles={"worker": {"replicas": 2, "min_available": 0}})
    assert found == {"roles": "the roles have min_available 0 together, which counts as all pods"}


def test_replicas_with_templates_of_their_own() -> None:
    roles = {"worker": {"replicas": 3, "min_available": 2}, "master": {}}
    made = plan(roles=roles, network={"host": True, "ports": "per-replica"})
    spec = job(made)["spec"]
    assert spec["minAvailable"] == made.min_available == 3
    assert [(task["name"], task["minAvailable"]) for task in spec["tasks"]] == [
        ("worker-0", 1), ("worker-1", 1), ("worker-2", 0), ("master-0", 1),
    ]  # fmt: skip


SCRIPT = {"script": "/app/train.py"}
STATIC: list[tuple[dict[str, Any], str]] = [
    ({"torchrun": SCRIPT}, "master"),
    ({"accelerate": SCRIPT}, "master"),
    ({"deepspeed": SCRIPT}, "master"),
    ({"mpi": {"command": ["/app/train"]}}, "master"),
    ({"tensorflow": {"command": ["python", "/app/mnist.py"]}}, "chief"),
]


@pytest.mark.parametrize(
    ("launcher", "first"), STATIC, ids=lambda part: next(iter(part)) if isinstance(part, dict) else ""
)
@pytest.mark.parametrize("least", [0, 1, 2])
def test_a_static_world_never_starts_short_of_its_pods(launcher: dict[str, Any], first: str, least: int) -> None:
    eight = {"accelerators": {"a800": 8}}
    roles = {first: {"replicas": 1, **eight}, "worker": {"replicas": 3, "min_available": least, **eight}}
    (kind,) = launcher
    told = (
        f"{kind} waits for all pods of its world, and with this number it starts with {least} of the 3 that the role "
        "has"
    )
    assert reasons(launcher=launcher, roles=roles) == {"roles.worker.min_available": told}
    roles["worker"]["min_available"] = 3
    assert reasons(launcher=launcher, roles=roles) == {}


def test_the_pod_that_launches_belongs_to_the_world() -> None:
    roles = {"launcher": {"ranked": False, "min_available": 0}, "worker": {"replicas": 3}}
    launcher = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
    told = "mpi waits for all pods of its world, and with this number it starts with 0 of the 1 that the role has"
    assert reasons(launcher=launcher, roles=roles) == {"roles.launcher.min_available": told}


def test_who_is_outside_of_the_world_may_be_outside_of_the_gang() -> None:
    evaluator = {
        "worker": {"replicas": 2},
        "evaluator": {"min_available": 0},
        "watcher": {**WATCHER, "min_available": 0},
    }
    assert reasons(launcher={"tensorflow": {"command": ["python", "/app/mnist.py"]}}, roles=evaluator) == {}
