"""Tasks of replicas with ports of their own, and the pods that Volcano's controller makes of a Job."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.samples import job, plan, reasons
from trainform.backends.volcano.controller import controller_objects, host_variables

PER_REPLICA = {"host": True, "ports": "per-replica"}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python"]}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3},
        "watcher": {"replicas": 2, "ranked": False, "command": ["python", "watch.py"]}},
    "network": PER_REPLICA,
}  # fmt: skip


def tasks(**parts: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job(plan(**{**TENSORFLOW, **parts}))["spec"]["tasks"]
    return found


def test_patches_of_the_job_find_each_task() -> None:
    patch = {"job": {"spec": {"tasks": {"worker-1": {"topologyPolicy": "best-effort"}}}}}
    roles = {**TENSORFLOW["roles"], "worker": {"replicas": 3, "cpu": 8}}
    found = tasks(manifest_overrides=patch, roles=roles)
    assert [task.get("topologyPolicy") for task in found] == [None, None, None, "best-effort", None, None]


def test_patches_of_the_role_are_in_all_its_tasks() -> None:
    roles = {**TENSORFLOW["roles"], "worker": {"replicas": 3, "pod_overrides": {"spec": {"enableServiceLinks": False}}}}
    found = tasks(roles=roles)
    links = [task["template"]["spec"].get("enableServiceLinks") for task in found]
    assert links == [None, None, False, False, False, None]


def test_a_patch_cannot_set_the_label_of_a_replica() -> None:
    """A Service selects by it."""
    roles = {"worker": {"replicas": 2, "pod_overrides": {"metadata": {"labels": {"trainform.dev/replica": "7"}}}}}
    expected = {
        "roles.worker.pod_overrides.metadata.labels.trainform.dev/replica": "the key is set by trainform itself"
    }
    assert reasons(roles=roles, network=PER_REPLICA) == expected


def test_a_limit_that_every_replica_breaks_is_reported_once() -> None:
    roles = {"worker": {"replicas": 3, "pod_overrides": {"spec": {"hostPID": True}}}}
    assert list(reasons(roles=roles, network=PER_REPLICA)) == ["roles.worker.pod_overrides.spec.hostPID"]


@pytest.mark.parametrize(
    ("task", "stem"),
    [("worker", "VC_WORKER"), ("parameter-server-0", "VC_PARAMETER_SERVER_0"), ("9-lives", "VC_9_LIVES")],
)
def test_names_of_variables(task: str, stem: str) -> None:
    assert host_variables(task) == (f"{stem}_HOSTS", f"{stem}_NUM")


def test_the_rendered_job_is_left_alone() -> None:
    body = job(plan(**TENSORFLOW))
    before = copy.deepcopy(body)
    controller_objects(body)
    assert body == before
