"""What a change of the experiment does: a new revision, an update in place, or nothing to the job at all.

Each change has an experiment of its own; all are in one stack, go up together and change together.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import RECORD, Project, Step
from tests.support.repository import read

pytestmark = pytest.mark.shows("what a change does, in previews and in the cluster")

Edit = Callable[[dict[str, Any]], object]

# What the job's replacement names, and what happens to which component, named in the words of the file.
NEW_REVISION: dict[str, tuple[Edit, str, tuple[str, ...]]] = {
    "image": (
        lambda data: data.update(image="registry.example.com/ai/pytorch-training:2.4"),
        "containers[0].image",
        ("update", "TrainingJob", "image", "image"),
    ),
    "command": (
        lambda data: data["launcher"].update(command=["python", "/app/train.py", "--fp8"]),
        "containers[0].args",
        ("update", "TrainingJob", "command", "launcher.command"),
    ),
    "env": (
        lambda data: data.update(env={"NCCL_DEBUG": "TRACE"}),
        "containers[0].env",
        ("update", "TrainingJob", "env", "env"),
    ),
    "resources": (
        lambda data: data["roles"]["worker"].update(memory="96Gi"),
        "containers[0].resources.limits.memory",
        ("update", "RoleGroup", "resources-worker", "memory"),
    ),
    "queue": (lambda data: data.update(queue="default"), "spec.queue", ("delete", "TrainingQueue", "queue-queue")),
    "ranked-replicas": (
        lambda data: data["roles"]["worker"].update(replicas=2),
        "containers[0].env",
        ("update", "RoleGroup", "ranked-replicas-worker", "replicas"),
    ),
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


BESIDE: dict[str, tuple[Edit, set[tuple[str, str]]]] = {
    "around": (around, {("update", "PersistentVolumeClaim"), ("update", "Queue"), ("update", "Service")})
}

CHANGES: dict[str, Edit] = {name: row[0] for table in (IN_PLACE, NEW_REVISION, BESIDE) for name, row in table.items()}
SOURCES = {"elastic-replicas": "elastic"}
WITH_OBJECTS_OF_THEIR_OWN = ("queue", "around")


@dataclasses.dataclass(frozen=True)
class Changed:
    """The stack once every experiment has changed: what the preview said, and what happened to jobs and ConfigMaps."""

    project: Project
    stack: str
    steps: list[Step]
    components: list[Step]
    events: dict[str, list[tuple[str, str]]]


def write(project: Project, name: str, change: Edit = lambda data: None) -> None:
    """The experiment, as small as it can be."""

    def edit(data: dict[str, Any]) -> None:
        if name not in SOURCES:
            data["roles"]["worker"]["replicas"] = data["roles"]["extra"]["replicas"] = 1
            for field in () if name in WITH_OBJECTS_OF_THEIR_OWN else ("queue", "storage"):
                del data[field]
        change(data)

    project.copied(SOURCES.get(name, "extras"), edit, name)


@dataclasses.dataclass(frozen=True)
class History:
    """What comes and goes of a kind in a namespace from now on."""

    live: Live
    plural: str
    namespace: str
    since: str
    before: frozenset[str]

    @classmethod
    def begun(cls, live: Live, plural: str, namespace: str) -> History:
        """Where the history stands now, and which objects are there."""
        since: str = live.request("GET", live.path(plural, namespace)).json()["metadata"]["resourceVersion"]
        return cls(live, plural, namespace, since, uids(live, plural, namespace))

    def events(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """When (a number that counts over all kinds), what and which object: those that were made or deleted."""
        path = f"{self.live.path(self.plural, self.namespace)}?watch=true&timeoutSeconds=1&resourceVersion={self.since}"

        def whole() -> list[dict[str, Any]] | None:
            """A watch that ends in time may end early: it must lead from the objects before to those that are there."""
            events = [json.loads(line) for line in self.live.request("GET", path).text.splitlines()]
            assert not [event for event in events if event["type"] == "ERROR"]
            there = set(self.before)
            for event in events:
                uid = event["object"]["metadata"]["uid"]
                there = there - {uid} if event["type"] == "DELETED" else there | {uid}
            return events if there == uids(self.live, self.plural, self.namespace) else None

        for event in until(whole, f"the history of the {self.plural}"):
            if event["type"] in ("ADDED", "DELETED"):
                yield int(event["object"]["metadata"]["resourceVersion"]), event["type"], event["object"]


def uids(live: Live, plural: str, namespace: str) -> frozenset[str]:
    """Return the objects that are there: one of the same name that was made anew is another."""
    return frozenset(found["metadata"]["uid"] for found in live.find_all(plural, namespace))


def made_and_deleted(histories: Iterable[History]) -> dict[str, list[tuple[str, str]]]:
    """Return what came and went, in order, for each experiment; but for what controllers made."""
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in CHANGES}
    events = [(*event, history.plural) for history in histories for event in history.events()]
    for _, what, made, plural in sorted(events, key=lambda event: event[0]):
        experiment = made["metadata"].get("labels", {}).get("app.kubernetes.io/name")
        if experiment in found:
            found[experiment].append((what, plural))
    return found


@pytest.fixture(scope="module")
def changed(shared_project: Project, live: Live) -> Changed:
    """Return all experiments up, and changed."""
    for name in CHANGES:
        write(shared_project, name)
    stack = stack_of(shared_project, "changes", list(CHANGES))
    shared_project.up(stack)
    for name, change in CHANGES.items():
        write(shared_project, name, change)
    steps = [step for step in shared_project.preview(stack) if step.op != "same"]
    in_cluster, components = ([step for step in steps if step.in_cluster == which] for which in (True, False))
    histories = [History.begun(live, plural, shared_project.namespace) for plural in ("jobs", "configmaps")]
    shared_project.up(stack)
    return Changed(shared_project, stack, in_cluster, components, made_and_deleted(histories))


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


@pytest.mark.parametrize("name", NEW_REVISION)
def test_a_change_is_named_in_the_words_of_the_file(changed: Changed, name: str) -> None:
    """Also where no object that is there before and after has it: in the runtime of a TrainJob, in a PodGroup."""
    steps = [step for step in changed.components if step.name == name or step.name.startswith(f"{name}-")]
    assert [(step.op, step.kind, step.name, *step.paths) for step in steps] == [NEW_REVISION[name][2]]


def test_the_old_job_is_gone_before_the_new_one_is_made_and_both_have_their_files_all_the_time(
    changed: Changed,
) -> None:
    in_order = [("ADDED", "configmaps"), ("DELETED", "jobs"), ("ADDED", "jobs"), ("DELETED", "configmaps")]
    assert {name: changed.events[name] for name in NEW_REVISION} == dict.fromkeys(NEW_REVISION, in_order)


@pytest.mark.parametrize("name", NEW_REVISION)
def test_the_launch_scripts_of_two_revisions_are_two_resources(changed: Changed, name: str) -> None:
    """One that is replaced would be left to be deleted where an `up` fails."""
    steps = [step for step in steps_of(changed, name) if "launch-script" in step.name]
    assert sorted(step.op for step in steps) == ["create", "delete"]
    made = next(step.name for step in steps if step.op == "create")
    assert made == f"{name}-launch-script-{changed.project.plan(name).revision}"


@pytest.mark.parametrize("name", IN_PLACE)
def test_replicas_without_rank_and_of_elastic_jobs_and_labels_update_in_place(
    changed: Changed, live: Live, name: str
) -> None:
    step, record = steps_of(changed, name)
    assert (step.op, step.kind, set(step.paths)) == ("update", "Job", IN_PLACE[name][1])
    assert (record.op, record.name, record.paths) == ("update", f"{name}-deployed", (RECORD,))
    assert changed.events[name] == []
    plan = changed.project.plan(name)
    assert sum(task["replicas"] for task in job(live, changed, name)["spec"]["tasks"]) == plan.totals.pods
    pods_of(live, plan)


@pytest.mark.parametrize("name", BESIDE)
def test_a_changed_claim_queue_or_service_leaves_the_job_alone(changed: Changed, name: str) -> None:
    steps = {(step.op, step.kind): step.paths for step in steps_of(changed, name)}
    assert steps.pop(("update", "ConfigMap")) == (RECORD,)
    assert steps.keys() == BESIDE[name][1]
    assert changed.events[name] == []


def test_after_every_change_nothing_is_left_to_change(changed: Changed) -> None:
    changed.project.unchanged(changed.stack)


def test_a_new_price_changes_the_cost_per_hour_and_no_resource(project: Project) -> None:
    project.copied("hello", lambda data: data["roles"]["worker"].update(accelerators={"a800": 2}))
    stack = project.stack("hello")
    project.up(stack)
    pods = project.plan("hello").totals.pods
    kinds = read("environments", "dev")["accelerators"]
    kinds["a800"]["price_per_hour"] = {"amount": 3.5, "currency": "USD", "as_of": datetime.date(2026, 11, 1)}
    project.environment(accelerators=kinds)
    assert project.applied(stack) == []
    output = project.pulumi("stack", "output", "cost_per_hour", "-s", stack).succeeded()
    assert output.strip() == f"{7 * pods:.2f} USD (prices of 2026-11-01)"
    project.destroy(stack)
