"""A job ends with all replicas of the role that ends it, also where each has a template of its own: JobSet and Trainer,
on the real controllers. `test_failure` has the same of Volcano."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.kubelet import succeeds
from tests.engine.live import Live, until
from tests.engine.pods import hostname, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from trainform.plan import Plan

pytestmark = pytest.mark.proof("an end on an operator of the add-ons; Volcano's is in `make test`")

COMMAND = ["python", "/app/train.py"]
MNIST: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"tensorflow": {"command": COMMAND}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}, "extra": {"ranked": False, "command": COMMAND}},
    "network": {"host": True, "ports": "per-replica"},
    "shared_memory": "64Mi",
}
OPERATORS = ("jobset", "trainer")


def status(live: Live, plan: Plan) -> dict[str, Any]:
    """What the controller says of the JobSet, which is Trainer's where the operator is Trainer."""
    found: dict[str, Any] = live.get("jobsets", plan.job, plan.namespace).get("status", {})
    return found


def succeeded(live: Live, plan: Plan) -> set[str]:
    """Replicated jobs that are counted as done."""
    jobs = status(live, plan).get("replicatedJobsStatus", [])
    return {job["name"] for job in jobs if job["succeeded"]}


@pytest.fixture
def started(addons_project: Project, addons_live: Live) -> Project:
    """A project whose one stack has the experiment on every operator, up."""
    for backend in OPERATORS:
        addons_project.experiment(backend, {**MNIST, "backend": backend})
    addons_project.up(stack_of(addons_project, "ends", OPERATORS))
    return addons_project


def test_a_job_ends_with_all_replicas_of_its_workers(started: Project, addons_live: Live) -> None:
    live = addons_live
    for backend in OPERATORS:
        plan = started.plan(backend)
        assert [ending.pods for ending in plan.ends_with] == ["the role worker"]
        pods = pods_of(live, plan)
        workers = [pods[pod.name] for pod in plan.pods() if pod.role == "worker"]
        groups = [group.name for role in plan.roles if role.name == "worker" for group in role.groups()]
        for done in (1, 2):
            succeeds(live, workers[done - 1])
            until(lambda plan=plan, done=done: len(succeeded(live, plan)) == done, f"{done} workers")  # type: ignore[misc]
            assert succeeded(live, plan) == set(groups[:done])
            assert "terminalState" not in status(live, plan)
        succeeds(live, workers[2])
        until(lambda plan=plan: status(live, plan).get("terminalState") == "Completed", "the job to end")  # type: ignore[misc]
        names = {hostname(pod) for pod in workers}
        until(lambda plan=plan, names=names: left(live, plan) == names, "the other pods to go")  # type: ignore[misc]


def left(live: Live, plan: Plan) -> set[str]:
    """Pods of the job that are still there, by hostname."""
    found = live.find_all("pods", plan.namespace)
    return {hostname(pod) for pod in found if pod["metadata"]["labels"].get("trainform.dev/revision") == plan.revision}
