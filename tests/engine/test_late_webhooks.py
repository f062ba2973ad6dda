"""Webhooks that have caches of their own, and deny what refers to an object that they have not heard of yet."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.backends.trainer.samples import TORCH
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.support.samples import plan
from trainform.job.render import job_manifests

pytestmark = pytest.mark.proof("webhooks that are delayed by seconds")

PROGRAM = """\
import pulumi
from trainform.manifests.manifest import Manifest
from trainform.resources.apply import Target, register

settings = pulumi.Config("trainform")
parent = pulumi.ComponentResource("test:index:Late", "late")
refusals = tuple(map(tuple, settings.require_object("refusals")))
manifest = Manifest("job", settings.require_object("body"), late_refusals=refusals)
register(manifest, parent, Target(None, None), "late")
"""
RUNTIME = "TrainingRuntime"
TRAIN_JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "spec": {"runtimeRef": {"name": "shared", "kind": RUNTIME}, "trainer": {"numNodes": 1}},
}
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example.com/ai/training:latest"}]}
JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "spec": {
        "schedulerName": "volcano",
        "queue": "team-late",
        "minAvailable": 1,
        "tasks": [{"name": "worker", "replicas": 1, "template": {"spec": POD}}],
    },
}


def make_runtime(live: Live, namespace: str) -> None:
    live.make({**TORCH, "kind": RUNTIME, "metadata": {"name": "shared", "namespace": namespace}})


def make_queue(live: Live, namespace: str) -> None:
    """It opens a moment later, and until then jobs are denied in other words."""
    api_version = "scheduling.volcano.sh/v1beta1"
    live.create(
        "queues", {"apiVersion": api_version, "kind": "Queue", "metadata": {"name": "team-late"}, "spec": {"weight": 1}}
    )


@pytest.mark.parametrize(
    ("backend", "body", "plural", "make"),
    [("trainer", TRAIN_JOB, "trainjobs", make_runtime), ("volcano", JOB, "jobs", make_queue)],
)
def test_what_a_webhook_learns_of_late_is_waited_for(
    addons_project: Project,
    addons_live: Live,
    backend: str,
    body: dict[str, Any],
    plural: str,
    make: Callable[[Live, str], None],
) -> None:
    project, live = addons_project, addons_live
    (project.folder / "stacks" / "__main__.py").write_text(PROGRAM)
    placed = {**body, "metadata": {"name": "late", "namespace": project.namespace}}
    rendered = next(manifest for manifest in job_manifests(plan(backend=backend)) if manifest.is_job)
    stack = project.program_stack("late", {"trainform:body": placed, "trainform:refusals": rendered.late_refusals})
    log = project.folder / "events.json"
    words = ("up", "--yes", "--skip-preview", "-s", stack, "--event-log", str(log))
    with ThreadPoolExecutor() as threads:
        up = threads.submit(project.pulumi, *words, PULUMI_DEBUG_COMMANDS="true")
        until(lambda: up.done() or (log.exists() and "denied the request" in log.read_text()), "the webhook to deny it")
        make(live, project.namespace)
        up.result().succeeded()
    assert live.names(plural, project.namespace) == {"late"}
