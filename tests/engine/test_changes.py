"""What a change of the experiment does: a new revision, an update in place, or nothing to the job at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project

Edit = Callable[[dict[str, Any]], object]

NEW_REVISION: dict[str, tuple[Edit, str]] = {
    "image": (lambda data: data.update(image="registry.example.com/ai/pytorch-training:2.4"), "containers[0].image"),
    "command": (
        lambda data: data["launcher"].update(command=["python", "/app/train.py", "--fp8"]),
        "containers[0].args",
    ),
    "env": (lambda data: data.update(env={"NCCL_DEBUG": "TRACE"}), "containers[0].env"),
    "resources": (lambda data: data["roles"]["worker"].update(memory="96Gi"), "containers[0].resources.limits.memory"),
    "queue": (lambda data: data.update(queue="default"), "spec.queue"),
    "ranked replicas": (lambda data: data["roles"]["worker"].update(replicas=2), "containers[0].env"),
}

IN_PLACE: dict[str, tuple[str, Edit, set[str]]] = {
    "unranked replicas": (
        "extras",
        lambda data: data["roles"]["extra"].update(replicas=6),
        {"spec.minAvailable", "spec.tasks[2].minAvailable", "spec.tasks[2].replicas"},
    ),
    "elastic replicas": (
        "elastic",
        lambda data: data["roles"]["worker"].update(replicas=7),
        {"spec.tasks[0].replicas"},
    ),
    "gang": (
        "extras",
        lambda data: data["roles"]["extra"].update(min_available=0),
        {"spec.minAvailable", "spec.tasks[2].minAvailable"},
    ),
}


@pytest.fixture
def running(project: Project) -> str:
    """`extras` up; its stack."""
    project.copied("extras")
    stack = project.stack("extras")
    project.up(stack)
    return stack


def test_a_new_revision_names_the_changed_field(project: Project, running: str) -> None:
    for name, (edit, path) in NEW_REVISION.items():
        project.copied("extras", edit)
        job = next(step for step in project.steps(running) if step.kind == "Job" and step.paths)
        assert "replace" in job.op, name
        assert "metadata.name" in job.replaced_by, name
        assert any(path in changed for changed in job.paths), (name, job.paths)


def test_the_old_job_is_gone_before_the_new_one_is_made(project: Project, live: Live, running: str) -> None:
    project.copied("extras", NEW_REVISION["image"][0])
    seen: list[frozenset[str]] = [frozenset(live.names("jobs", project.namespace))]
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            names = frozenset(live.names("jobs", project.namespace))
            if names != seen[-1]:
                seen.append(names)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        project.up(running)
    finally:
        done.set()
        watcher.join()
    assert [len(names) for names in seen] == [1, 0, 1], seen
    assert seen[0] != seen[-1]
    project.unchanged(running)


@pytest.mark.parametrize("name", IN_PLACE)
def test_replicas_without_rank_and_of_elastic_jobs_update_in_place(project: Project, live: Live, name: str) -> None:
    experiment, edit, paths = IN_PLACE[name]
    project.copied(experiment)
    stack = project.stack(experiment)
    project.up(stack)
    before = live.only_job(project.namespace)
    project.copied(experiment, edit)
    (step,) = project.steps(stack)
    assert (step.op, step.kind, set(step.paths)) == ("update", "Job", paths)
    project.up(stack)
    after = live.only_job(project.namespace)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    live.running_pods(project.namespace, sum(task["replicas"] for task in after["spec"]["tasks"]))
    project.unchanged(stack)


def test_an_elastic_job_is_not_scaled_beyond_its_bounds(project: Project, live: Live) -> None:
    project.copied("elastic")
    stack = project.stack("elastic")
    project.up(stack)
    before = live.only_job(project.namespace)
    for replicas in (1, 9):
        project.copied("elastic", lambda data: data["roles"]["worker"].update(replicas=replicas))  # noqa: B023 - called at once
        for words in (("preview",), ("up", "--yes", "--skip-preview")):
            output = project.pulumi(*words, "-s", stack).failed()
            assert f"have {replicas} ranked pods, outside min_nodes 2 and max_nodes 8" in output
    assert live.only_job(project.namespace)["metadata"]["generation"] == before["metadata"]["generation"]


def test_labels_of_the_job_update_in_place(project: Project, live: Live, running: str) -> None:
    before = live.only_job(project.namespace)
    project.copied(
        "extras", lambda data: data.update(labels={"cost-center": "4711"}, annotations={"example.com/ticket": "ML-7"})
    )
    (step,) = project.steps(running)
    assert (step.op, step.kind) == ("update", "Job")
    project.up(running)
    after = live.only_job(project.namespace)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"]["cost-center"] == "4711"


def test_a_changed_service_queue_or_claim_leaves_the_job_alone(project: Project, live: Live, running: str) -> None:
    before = live.only_job(project.namespace)

    def edit(data: dict[str, Any]) -> None:
        data["storage"]["output"]["size"] = "200Gi"
        data["queue"]["weight"] = 5
        data["manifest_overrides"] = {"service": {"metadata": {"labels": {"team": "vision"}}}}  # says so on the Service

    project.copied("extras", edit)
    assert {(step.op, step.kind) for step in project.steps(running)} == {
        ("update", "PersistentVolumeClaim"),
        ("update", "Queue"),
        ("update", "Service"),
    }
    project.up(running)
    assert live.only_job(project.namespace)["metadata"]["uid"] == before["metadata"]["uid"]
    assert live.get("services", "extras", project.namespace)["metadata"]["labels"]["team"] == "vision"
    project.unchanged(running)


def test_a_service_that_is_replaced_leaves_the_job_alone(project: Project, live: Live, running: str) -> None:
    """clusterIP cannot change in place: Pulumi replaces the Service, and the job must not go with it."""
    before = live.only_job(project.namespace)
    project.copied(
        "extras",
        lambda data: data.update(
            manifest_overrides={"service": {"spec": {"clusterIP": None, "ports": [{"port": 80}]}}}
        ),
    )
    steps = project.steps(running)
    assert {step.kind for step in steps} == {"Service"}
    project.up(running)
    assert live.only_job(project.namespace)["metadata"]["uid"] == before["metadata"]["uid"]
