"""Pods that wait for others: what is refused never starts, and what is accepted does, with the real controllers and the
real scheduler."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.pods import pods_of
from tests.engine.project import Project
from trainform.check import check_experiment
from trainform.render import RenderedJob

pytestmark = pytest.mark.proof("the order of pods in gangs")

COMMAND = ["python", "/app/train.py"]
SECONDS = 15  # for which what is refused must not start
ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}, "watcher": {"ranked": False, "command": COMMAND}}
OUTSIDE: dict[str, Any] = {**ROLES, "watcher": {**ROLES["watcher"], "min_available": 0}}
TASKS: dict[str, Any] = {"spec": {"tasks": {"watcher": {"dependsOn": {"name": ["worker"]}}}}}
JOBS: dict[str, Any] = {"spec": {"replicatedJobs": {"watcher": {"dependsOn": [{"name": "worker", "status": "Ready"}]}}}}
IN_ORDER: dict[str, Any] = {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}
REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tasks": ("volcano", ROLES, {"job": TASKS}),
    "jobs": ("jobset", ROLES, {"job": JOBS}),
    "in-order": ("jobset", OUTSIDE, {"job": IN_ORDER}),
}
ACCEPTED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tasks-outside": ("volcano", OUTSIDE, {"job": TASKS}),
    "jobs-outside": ("jobset", OUTSIDE, {"job": JOBS}),
    "two-in-order": ("jobset", {name: OUTSIDE[name] for name in ("worker", "watcher")}, {"job": IN_ORDER}),
}


def made(live: Live, project: Project, name: str) -> RenderedJob:
    """The job with its objects in the cluster, whether it is refused or not."""
    backend, roles, patches = (REFUSED | ACCEPTED)[name]
    project.experiment(
        name,
        {
            "backend": backend,
            "image": "registry.example.com/ai/training:latest",
            "launcher": {"torchrun": {"script": "/app/train.py"}},
            "roles": roles,
            "manifest_overrides": patches,
            "shared_memory": "64Mi",
        },
    )
    job = check_experiment(name, "dev", root=project.folder).job
    assert job is not None
    assert bool(job.problems) is (name in REFUSED), job.problems
    for manifest in job.manifests:
        live.make(manifest.body)
    return job


def test_a_gang_starts_where_nothing_is_refused(addons_project: Project, addons_live: Live) -> None:
    jobs = {name: made(addons_live, addons_project, name) for name in (*REFUSED, *ACCEPTED)}
    for name in ACCEPTED:
        assert len(pods_of(addons_live, jobs[name].plan)) == jobs[name].plan.totals.pods
    time.sleep(SECONDS)
    for pod in addons_live.find_all("pods", addons_project.namespace):
        name = pod["metadata"]["labels"]["app.kubernetes.io/name"]
        assert name in ACCEPTED or pod["status"].get("phase") == "Pending", (name, pod["metadata"]["name"])
