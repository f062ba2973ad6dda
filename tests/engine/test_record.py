"""The record of what is deployed, the ConfigMap next to the job. test_failed_ups reads it after an `up` that failed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import RECORD, Project
from trainform.plan.record import Record, read_record

pytestmark = pytest.mark.proof("the record of what is deployed")

IMAGE = "registry.example.com/ai/pytorch-training"
CLAIM, LARGER, LARGEST = ({"storage": {"runs": {"size": size, "mount": "/runs"}}} for size in ("1Gi", "2Gi", "3Gi"))


def write(project: Project, tag: str, **parts: Any) -> None:
    data = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2}},
        **parts,
    }
    project.experiment("bert", data)


def recorded(live: Live, namespace: str) -> Record:
    """What the ConfigMap says."""
    record = read_record(live.get("configmaps", "bert-deployed", namespace))
    assert record is not None
    return record


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
