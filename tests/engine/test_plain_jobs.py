"""Plain Jobs on the real Job controller, without an operator and without a gang."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.engine.kubelet import fails, succeeds
from tests.engine.live import Live, until
from tests.engine.pods import as_planned, pods_of
from tests.engine.project import Project
from trainform.backends.backend import BACKENDS
from trainform.cluster.phases import PodState, phase_of
from trainform.manifests.manifest import job_body

pytestmark = pytest.mark.proof("plain Jobs: their end, their restarts, and their replacement")

TRAINING: dict[str, Any] = {
    "backend": "kubernetes",
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 3}},
    "shared_memory": "64Mi",
}
MPI = {**TRAINING, "launcher": {"mpi": {"command": ["/app/train"]}}}
HELD = {"metadata": {"finalizers": ["tests.trainform.dev/held"]}}


@pytest.fixture
def plain(addons_project: Project) -> Project:
    """Return a project whose environment has no gangs."""
    addons_project.environment(admission="none")
    return addons_project


def job_of(live: Live, project: Project, name: str) -> dict[str, Any]:
    """Return the live job object."""
    body = job_body(project.rendered(name).manifests)
    return next(each for each in live.find_like(body) if each["metadata"]["name"] == body["metadata"]["name"])


def ends(live: Live, project: Project, name: str, word: str) -> None:
    outcome = BACKENDS["kubernetes"].OUTCOME
    until(lambda: outcome(job_of(live, project, name), []).word == word, f"{name} to have {word}", seconds=60)


def test_a_job_from_its_preview_to_its_end(plain: Project, addons_live: Live) -> None:
    """`up` returns while it runs, a refresh reads it as it is, and it ends when all pods have succeeded."""
    plain.experiment("train", TRAINING)
    stack = plain.stack("train")
    assert "create" in {step.op for step in plain.steps(stack)}
    plain.up(stack)
    as_planned(addons_live, plain.plan("train"))
    assert addons_live.find_all("podgroups", plain.namespace) == []
    plain.pulumi("refresh", "--yes", "-s", stack).succeeded()
    plain.unchanged(stack)
    first, *others = pods_of(addons_live, plain.plan("train")).values()
    for pod in others:
        succeeds(addons_live, pod)
    assert phase_of(job_of(addons_live, plain, "train"), {PodState.RUNNING: 1}) == "running"
    succeeds(addons_live, first)
    ends(addons_live, plain, "train", "succeeded")
    plain.destroy(stack)
    until(lambda: not addons_live.find_all("pods", plain.namespace), "all pods to go")


def mpi_pods(plain: Project, live: Live) -> list[dict[str, Any]]:
    """Return the pods of a job of which the first launches, by index."""
    plain.experiment("mpi", MPI)
    stack = plain.stack("mpi")
    plain.ssh_secret(stack).succeeded()
    plain.up(stack)
    plan = plain.plan("mpi")
    as_planned(live, plan)
    pods = pods_of(live, plan)
    return [pods[f"{plan.job}-{index}"] for index in range(len(pods))]


def test_the_success_of_the_first_pod_ends_the_job(plain: Project, addons_live: Live) -> None:
    """The others serve SSH, and would run for ever."""
    succeeds(addons_live, mpi_pods(plain, addons_live)[0])
    ends(addons_live, plain, "mpi", "succeeded")
    running = (pod for pod in addons_live.find_all("pods", plain.namespace) if pod["status"]["phase"] == "Running")
    assert [*running] == []


def test_a_failure_of_another_pod_ends_the_job_too(plain: Project, addons_live: Live) -> None:
    fails(addons_live, mpi_pods(plain, addons_live)[2])
    ends(addons_live, plain, "mpi", "failed")


def test_a_new_revision_waits_for_the_pods_of_the_old_one(plain: Project, addons_live: Live) -> None:
    """Pulumi's provider does not wait until a Job is deleted, and two trainings would write the same checkpoints."""
    plain.experiment("train", TRAINING)
    stack = plain.stack("train")
    plain.up(stack)
    old = plain.plan("train")
    held = next(iter(pods_of(addons_live, old).values()))["metadata"]
    path = addons_live.path("pods", plain.namespace, held["name"])
    addons_live.merge(path, HELD)

    plain.experiment("train", {**TRAINING, "env": {"EPOCHS": "2"}})
    report = plain.review(stack).report
    assert report["headline"].startswith(f"Replaces the running job {old.job} (3 pods"), report["headline"]
    new, done = plain.plan("train"), threading.Event()
    output: list[str] = []

    def replace() -> None:
        output.append(plain.up(stack))
        done.set()

    updating = threading.Thread(target=replace)
    updating.start()
    until(
        lambda: "deletionTimestamp" in addons_live.get("pods", held["name"], plain.namespace)["metadata"],
        "the old pods to be deleted",
    )
    assert not done.wait(5)
    jobs = {job["metadata"]["name"] for job in addons_live.find_like(job_body(plain.rendered("train").manifests))}
    assert new.job not in jobs
    addons_live.merge(path, {"metadata": {"finalizers": None}})
    updating.join(60)
    assert output
    as_planned(addons_live, new)
    plain.unchanged(stack)
