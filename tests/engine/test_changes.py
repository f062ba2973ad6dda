"""What a change of the experiment does: a new revision, an update in place, or nothing to the job at all.

Each change has an experiment of its own; all are in one stack, go up together and change together.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project, Step

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
    "ranked-replicas": (lambda data: data["roles"]["worker"].update(replicas=2), "containers[0].env"),
}

IN_PLACE: dict[str, tuple[Edit, set[str]]] = {
    # the first of the program, which ends at once where this one is refused
    "elastic-replicas": (lambda data: data["roles"]["worker"].update(replicas=7), {"spec.tasks[0].replicas"}),
    "unranked-replicas": (
        lambda data: data["roles"]["extra"].update(replicas=3),
        {"spec.minAvailable", "spec.tasks[2].minAvailable", "spec.tasks[2].replicas"},
    ),
    "gang": (
        lambda data: data["roles"]["extra"].update(min_available=0),
        {"spec.minAvailable", "spec.tasks[2].minAvailable"},
    ),
    "labels": (
        lambda data: data.update(labels={"cost-center": "4711"}, annotations={"example.com/ticket": "ML-7"}),
        {'metadata.annotations["example.com/ticket"]', "metadata.labels.cost-center"},
    ),
}


def around(data: dict[str, Any]) -> None:
    """A change of everything but the job."""
    data["storage"]["output"]["size"] = "200Gi"
    data["queue"]["weight"] = 5
    data["manifest_overrides"] = {"service": {"metadata": {"labels": {"team": "vision"}}}}  # says so on the Service


# clusterIP cannot change in place: Pulumi replaces the Service, and the job must not go with it
NEW_SERVICE = {"service": {"spec": {"clusterIP": None, "ports": [{"port": 80}]}}}

BESIDE: dict[str, tuple[Edit, set[tuple[str, str]]]] = {
    "around": (around, {("update", "PersistentVolumeClaim"), ("update", "Queue"), ("update", "Service")}),
    "new-service": (lambda data: data.update(manifest_overrides=NEW_SERVICE), {("replace", "Service")}),
}

CHANGES: dict[str, Edit] = {name: row[0] for table in (IN_PLACE, NEW_REVISION, BESIDE) for name, row in table.items()}
SOURCES = {"elastic-replicas": "elastic"}
WITH_OBJECTS_OF_THEIR_OWN = ("queue", "around")


@dataclasses.dataclass(frozen=True)
class Changed:
    """The stack once every experiment has changed: what the preview said, and what happened to the jobs."""

    project: Project
    stack: str
    steps: list[Step]
    events: dict[str, list[str]]


def write(project: Project, name: str, change: Edit = lambda data: None) -> None:
    """The experiment, as small as it can be."""

    def edit(data: dict[str, Any]) -> None:
        if name not in SOURCES:
            data["roles"]["worker"]["replicas"] = data["roles"]["extra"]["replicas"] = 1
            for field in () if name in WITH_OBJECTS_OF_THEIR_OWN else ("queue", "storage"):
                del data[field]
        change(data)

    project.copied(SOURCES.get(name, "extras"), edit, name)


def version(live: Live, namespace: str) -> str:
    """Where the history of the jobs stands."""
    found: str = live.request("GET", live.path("jobs", namespace)).json()["metadata"]["resourceVersion"]
    return found


def jobs(live: Live, namespace: str) -> set[str]:
    """Those that are there, by uid: a job of the same name that was made anew is another."""
    return {job["metadata"]["uid"] for job in live.find_all("jobs", namespace)}


def made_and_deleted(live: Live, namespace: str, since: str, before: set[str]) -> dict[str, list[str]]:
    """What came and went since then, in order, for each experiment."""
    path = f"{live.path('jobs', namespace)}?watch=true&timeoutSeconds=1&resourceVersion={since}"

    def whole_history() -> list[dict[str, Any]] | None:
        """A watch that ends in time may end early: it must lead from the jobs before to those that are there."""
        events = [json.loads(line) for line in live.request("GET", path).text.splitlines()]
        assert not [event for event in events if event["type"] == "ERROR"]
        there = set(before)
        for event in events:
            uid = event["object"]["metadata"]["uid"]
            there = there - {uid} if event["type"] == "DELETED" else there | {uid}
        return events if there == jobs(live, namespace) else None

    found: dict[str, list[str]] = {name: [] for name in CHANGES}
    for event in until(whole_history, "the history of the jobs"):
        if event["type"] in ("ADDED", "DELETED"):
            found[event["object"]["metadata"]["labels"]["app.kubernetes.io/name"]].append(event["type"])
    return found


@pytest.fixture(scope="module")
def changed(shared_project: Project, live: Live) -> Changed:
    """All experiments up, and changed."""
    for name in CHANGES:
        write(shared_project, name)
    stack = stack_of(shared_project, "changes", list(CHANGES))
    shared_project.up(stack)
    for name, change in CHANGES.items():
        write(shared_project, name, change)
    steps = shared_project.steps(stack)
    since, before = version(live, shared_project.namespace), jobs(live, shared_project.namespace)
    shared_project.up(stack)
    return Changed(shared_project, stack, steps, made_and_deleted(live, shared_project.namespace, since, before))


def steps_of(changed: Changed, name: str) -> list[Step]:
    return [step for step in changed.steps if step.name.startswith(f"{name}-")]


def job(live: Live, changed: Changed, name: str) -> dict[str, Any]:
    return live.get("jobs", changed.project.plan(name).job, changed.project.namespace)


@pytest.mark.parametrize("name", NEW_REVISION)
def test_a_new_revision_names_the_changed_field(changed: Changed, name: str) -> None:
    step = next(step for step in steps_of(changed, name) if step.kind == "Job" and step.paths)
    assert "replace" in step.op
    assert "metadata.name" in step.replaced_by
    assert any(NEW_REVISION[name][1] in path for path in step.paths), step.paths


def test_the_old_job_is_gone_before_the_new_one_is_made(changed: Changed) -> None:
    assert {name: changed.events[name] for name in NEW_REVISION} == {
        name: ["DELETED", "ADDED"] for name in NEW_REVISION
    }


@pytest.mark.parametrize("name", IN_PLACE)
def test_replicas_without_rank_and_of_elastic_jobs_and_labels_update_in_place(
    changed: Changed, live: Live, name: str
) -> None:
    (step,) = steps_of(changed, name)
    assert (step.op, step.kind, set(step.paths)) == ("update", "Job", IN_PLACE[name][1])
    assert changed.events[name] == []
    plan = changed.project.plan(name)
    assert sum(task["replicas"] for task in job(live, changed, name)["spec"]["tasks"]) == plan.totals.pods
    pods_of(live, plan)


def test_labels_reach_the_job(changed: Changed, live: Live) -> None:
    assert job(live, changed, "labels")["metadata"]["labels"]["cost-center"] == "4711"


@pytest.mark.parametrize("name", BESIDE)
def test_a_changed_claim_queue_or_service_and_a_replaced_service_leave_the_job_alone(
    changed: Changed, name: str
) -> None:
    assert {(step.op, step.kind) for step in steps_of(changed, name)} == BESIDE[name][1]
    assert changed.events[name] == []


def test_an_override_reaches_the_service(changed: Changed, live: Live) -> None:
    service = live.get("services", "around", changed.project.namespace)
    assert service["metadata"]["labels"]["team"] == "vision"


def test_after_every_change_nothing_is_left_to_change(changed: Changed) -> None:
    changed.project.unchanged(changed.stack)


def test_an_elastic_job_is_not_scaled_beyond_its_bounds(changed: Changed, live: Live) -> None:
    before = job(live, changed, "elastic-replicas")
    words = {1: ("preview",), 9: ("up", "--yes", "--skip-preview")}
    for replicas, verb in words.items():
        write(changed.project, "elastic-replicas", lambda data: data["roles"]["worker"].update(replicas=replicas))  # noqa: B023 - called at once
        output = changed.project.pulumi(*verb, "-s", changed.stack).failed()
        assert f"have {replicas} ranked pods, outside min_nodes 2 and max_nodes 8" in output
    after = live.get("jobs", before["metadata"]["name"], changed.project.namespace)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
