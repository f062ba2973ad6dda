"""What is deployed, as the ConfigMap beside the job says it: also after an `up` that failed, and whatever version of
trainform looks at it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import RECORD, Project
from tests.engine.refusing import LABEL, REASON, refusing
from trainform.errors import ClusterError
from trainform.plan.record import Record, read_record

pytestmark = pytest.mark.proof("the record of what is deployed, and failed `up`s")

IMAGE = "registry.example.com/ai/pytorch-training"
CLAIM, LARGER, LARGEST = ({"storage": {"runs": {"size": size, "mount": "/runs"}}} for size in ("1Gi", "2Gi", "3Gi"))
EVERYTHING = ("--continue-on-error",)
EDITED = "application/merge-patch+json"


@pytest.fixture(autouse=True)
def hub(project: Project, live: Live) -> None:
    live.create("secrets", {"metadata": {"name": "hub"}, "stringData": {"token": "x"}}, project.namespace)


def write(project: Project, tag: str, **parts: Any) -> None:
    data = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2}},
        "env": {"HF_TOKEN": {"secret": {"name": "hub", "key": "token"}}},
        **parts,
    }
    project.experiment("bert", data)


def recorded(live: Live, namespace: str) -> Record:
    """What the ConfigMap says."""
    record = read_record(live.get("configmaps", "bert-deployed", namespace))
    assert record is not None
    return record


def wanted(project: Project, stack: str) -> dict[str, Any]:
    """The inputs of the component in Pulumi's state."""
    state = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())
    (inputs,) = (
        resource["inputs"]
        for resource in state["deployment"]["resources"]
        if resource["type"] == "trainform:index:TrainingJob"
    )
    return dict(inputs)


def refused(project: Project, stack: str) -> None:
    """`up` fails, also if it goes on with what does not depend on the refused object."""
    ran = [project.pulumi("up", "--yes", "--skip-preview", "-s", stack, *words) for words in ((), EVERYTHING)]
    assert all(REASON in one.output and one.code != 0 for one in ran)


def test_after_an_up_that_failed_the_state_holds_what_was_wanted_and_the_record_what_was_deployed(
    project: Project, live: Live
) -> None:
    write(project, "a")
    stack = project.stack("bert")
    project.up(stack)
    runs = live.only_job(project.namespace)
    first = recorded(live, project.namespace)
    assert first.experiment["image"] == f"{IMAGE}:a"
    assert first.experiment["env"]["HF_TOKEN"]["secret"] == {"name": "hub", "key": "token"}
    assert first.experiment["storage"] == {}
    assert first.job == runs["metadata"]["name"]

    with refusing(live, project.namespace):
        write(project, "b", **CLAIM, manifest_overrides={"claim-runs": {"metadata": {"labels": LABEL}}})
        refused(project, stack)
        assert wanted(project, stack)["image"] == f"{IMAGE}:b"
        still = live.only_job(project.namespace)
        assert still["metadata"]["uid"] == runs["metadata"]["uid"]
        assert recorded(live, project.namespace) == first
        tasks = still["spec"]["tasks"]
        assert {task["template"]["spec"]["containers"][0]["image"] for task in tasks} == {f"{IMAGE}:a"}

        write(project, "b", **CLAIM, labels=LABEL)
        refused(project, stack)
        assert live.names("jobs", project.namespace) == set(), "the old job is deleted first"
        assert recorded(live, project.namespace) == first, "it names a job that no longer runs"

    write(project, "b", **CLAIM)
    project.up(stack)
    last = recorded(live, project.namespace)
    assert last.experiment["image"] == f"{IMAGE}:b"
    assert last.job == live.only_job(project.namespace)["metadata"]["name"] != first.job
    project.unchanged(stack)

    is_made_again_where_somebody_has_changed_it(project, live, stack)


def is_made_again_where_somebody_has_changed_it(project: Project, live: Live, stack: str) -> None:
    job, before = live.only_job(project.namespace), recorded(live, project.namespace)
    path = live.path("configmaps", project.namespace, "bert-deployed")
    assert live.request("PATCH", path, {"data": {"experiment": "{"}}, EDITED).status_code == 200
    with pytest.raises(ClusterError, match="bert-deployed cannot be read"):
        recorded(live, project.namespace)
    live.delete("configmaps", "bert-deployed", project.namespace)
    project.up(stack, "--refresh")
    assert recorded(live, project.namespace) == before
    assert live.only_job(project.namespace)["metadata"]["uid"] == job["metadata"]["uid"]


def test_a_change_beside_the_job_does_not_touch_it_also_where_it_is_gone(project: Project, live: Live) -> None:
    write(project, "a", **CLAIM)
    stack = project.stack("bert")
    project.up(stack)
    live.running_pods(project.namespace, 2)

    def running() -> dict[str, Any] | None:
        """Volcano writes the state of the pods into the job."""
        job = live.only_job(project.namespace)
        return dict(job["metadata"]) if job["status"].get("running") == 2 else None

    before = until(running, "the job to run")
    write(project, "a", **LARGER)
    grown = [("update", "bert-claim-runs"), ("update", "bert-deployed")]
    assert sorted((step.op, step.name) for step in project.applied(stack)) == grown
    after = live.only_job(project.namespace)["metadata"]
    for field in ("uid", "generation", "resourceVersion"):
        assert after[field] == before[field]
    assert recorded(live, project.namespace).experiment["storage"]["runs"]["size"] == "2Gi"

    write(project, "a", **LARGER, labels={"team": "vision"})
    steps = [(step.op, step.name, step.paths) for step in project.applied(stack)]
    assert steps == [("update", "bert-job", ("metadata.labels.team",)), ("update", "bert-deployed", (RECORD,))]
    assert recorded(live, project.namespace).experiment["labels"] == {"team": "vision"}

    live.delete("jobs", after["name"], project.namespace)
    until(lambda: live.names("jobs", project.namespace) == set(), "the job to go")
    write(project, "a", **LARGEST, labels={"team": "vision"})
    assert sorted((step.op, step.name) for step in project.applied(stack)) == grown
    assert live.names("jobs", project.namespace) == set()
