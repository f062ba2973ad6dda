"""What changes in place on the operators beside Volcano, and what other controllers write into our objects and no preview shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.pods import as_planned, pods_of
from tests.engine.project import Project

PLURALS = {"kubeflow": "pytorchjobs", "trainer": "trainjobs", "jobset": "jobsets"}
SUSPENDED: dict[str, dict[str, Any]] = {
    "kubeflow": {"runPolicy": {"suspend": True}},
    "trainer": {"suspend": True},
    "jobset": {"suspend": True},
}
SWEEP: dict[str, Any] = {
    "image": "registry.example.com/ai/pytorch-training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 2, "cpu": 1, "memory": "1Gi"}},
}
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def jobs(live: Live, project: Project, backend: str) -> list[str]:
    return sorted(live.names(PLURALS[backend], project.namespace))


def no_pods(live: Live, project: Project) -> None:
    until(lambda: not live.find_all("pods", project.namespace), "all pods to go")


@pytest.mark.parametrize("backend", SUSPENDED)
def test_a_job_is_suspended_and_goes_on_in_place(backend: str, addons_project: Project, addons_live: Live) -> None:
    project, live = addons_project, addons_live
    project.experiment("sweep", {**SWEEP, "backend": backend})
    stack = project.stack("sweep")
    project.up(stack)
    as_planned(live, project.plan("sweep"))
    name = jobs(live, project, backend)

    project.experiment(
        "sweep", {**SWEEP, "backend": backend, "manifest_overrides": {"job": {"spec": SUSPENDED[backend]}}}
    )
    assert [step.op for step in project.steps(stack)] == ["update"]
    project.up(stack)
    no_pods(live, project)
    project.unchanged(stack)

    project.experiment("sweep", {**SWEEP, "backend": backend})
    assert [step.op for step in project.steps(stack)] == ["update"]
    project.up(stack)
    as_planned(live, project.plan("sweep"))
    assert jobs(live, project, backend) == name
    project.unchanged(stack)
    project.destroy(stack)
    no_pods(live, project)


def test_an_elastic_pytorchjob_is_scaled_in_place(addons_project: Project, addons_live: Live) -> None:
    project, live = addons_project, addons_live

    def scale(replicas: int) -> None:
        worker = {"replicas": replicas, "cpu": 1, "memory": "1Gi"}
        project.copied("elastic", lambda data: data.update(backend="kubeflow", roles={"worker": worker}))

    scale(3)
    stack = project.stack("elastic")
    project.up(stack)
    as_planned(live, project.plan("elastic"))
    name = jobs(live, project, "kubeflow")
    for replicas in (5, 2):
        scale(replicas)
        assert [step.op for step in project.steps(stack)] == ["update"]
        project.up(stack)
        assert len(pods_of(live, project.plan("elastic"))) == replicas
        assert jobs(live, project, "kubeflow") == name
        project.unchanged(stack)
    project.destroy(stack)
    no_pods(live, project)


def test_the_ttl_of_a_jobset_changes_in_place(addons_project: Project, addons_live: Live) -> None:
    project = addons_project
    for ttl in ("1h", "2h"):
        project.experiment("sweep", {**SWEEP, "backend": "jobset", "ttl": ttl})
        stack = project.stack("sweep")
        if ttl == "2h":
            assert [(step.op, step.kind) for step in project.steps(stack)] == [("update", "JobSet")]
        project.up(stack)
    [found] = addons_live.find_all("jobsets", project.namespace)
    assert found["spec"]["ttlSecondsAfterFinished"] == 7200
    project.destroy(stack)


@pytest.fixture
def queue(addons_project: Project, addons_live: Live) -> Iterator[str]:
    """A LocalQueue `team`, and the name of its ClusterQueue, which holds everything back."""
    project, live = addons_project, addons_live
    name = project.namespace
    quotas = [{"name": resource, "nominalQuota": quota} for resource, quota in (("cpu", "32"), ("memory", "64Gi"))]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": quotas}]}
    made: list[dict[str, Any]] = [
        {"kind": "ResourceFlavor", "metadata": {"name": name}},
        {
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group], "stopPolicy": "Hold"},
        },
        {
            "kind": "LocalQueue",
            "metadata": {"name": "team", "namespace": project.namespace},
            "spec": {"clusterQueue": name},
        },
    ]
    bodies = [{"apiVersion": "kueue.x-k8s.io/v1beta2", **body} for body in made]
    for body in bodies:
        live.make(body)
    yield name
    for body in reversed(bodies):
        live.remove(body)


@pytest.mark.parametrize("backend", ["jobset", "trainer"])
def test_what_kueue_writes_is_no_change(backend: str, addons_project: Project, addons_live: Live, queue: str) -> None:
    """Kueue suspends the job, lets it go on when there is room, and writes a patch of its own into a TrainJob."""
    project, live = addons_project, addons_live
    project.environment(admission="kueue")
    project.experiment("sweep", {**SWEEP, "backend": backend, "queue": "team"})
    stack = project.stack("sweep")
    project.up(stack)

    def spec() -> dict[str, Any]:
        [found] = live.find_all(PLURALS[backend], project.namespace)
        written: dict[str, Any] = found["spec"]
        return written

    assert spec()["suspend"] is True
    assert live.find_all("pods", project.namespace) == []
    project.unchanged(stack)

    opened = live.request(
        "PATCH", f"{KUEUE}/clusterqueues/{queue}", {"spec": {"stopPolicy": "None"}}, "application/merge-patch+json"
    )
    assert opened.status_code == 200, opened.text
    as_planned(live, project.plan("sweep"))
    assert spec()["suspend"] is False
    project.unchanged(stack)

    project.experiment("sweep", {**SWEEP, "backend": backend, "queue": "team", "labels": {"team": "vision"}})
    assert {step.op for step in project.steps(stack)} == {"update"}
    written = spec()
    project.up(stack)
    assert spec() == written
    as_planned(live, project.plan("sweep"))
    project.unchanged(stack)
    project.destroy(stack)
    no_pods(live, project)


def test_a_local_queue_that_is_missing_is_named(addons_project: Project) -> None:
    project = addons_project
    project.environment(admission="kueue")
    project.experiment("sweep", {**SWEEP, "backend": "jobset", "queue": "night"})
    output = project.pulumi("preview", "-s", project.stack("sweep")).failed()
    assert f"the LocalQueue night does not exist in the namespace {project.namespace}" in " ".join(output.split())
