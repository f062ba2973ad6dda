"""The training jobs of a preview, with their records before and after."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import previews
from tests.support.previews import (
    CONFIG_MAP,
    ROLE_GROUP,
    SECRET,
    TRAINING_JOB,
    VOLCANO_JOB,
    secret,
    state,
    step_event,
    urn,
)
from trainform.plan.record import Record
from trainform.review.context import JobReview
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview


def record(**changes: Any) -> Record:
    """A record of what is deployed."""
    data: dict[str, Any] = {"revision": "1f3a9c", "job": "bert-1f3a9c", "run": 1, "experiment": {"name": "bert"}}
    return Record(**{**data, "environment": {"name": "dev"}, "version": "0.9.0", **changes})


def of_record(data: Any) -> dict[str, Any]:
    """A state of the ConfigMap."""
    return {"metadata": {"name": "bert-deployed"}, "data": data}


def events(before: Any, after: Any, name: str = "bert") -> list[dict[str, Any]]:
    """A component with its parts and objects. before, after: the data of its record; None: there is none."""
    component = urn(TRAINING_JOB, name)
    sides = [None if data is None else state(of_record(data), parent=component) for data in (before, after)]
    group = urn(ROLE_GROUP, f"{name}-node", TRAINING_JOB)
    job = state({"metadata": {"name": f"{name}-1f3a9c"}}, parent=component)
    return [
        step_event("update", component, state({}), state({})),
        step_event("update", group, state({"replicas": 2}, parent=component), state({"replicas": 3}, parent=component)),
        step_event("create", urn(SECRET, f"{name}-inner", TRAINING_JOB, ROLE_GROUP), None, state({}, parent=group)),
        step_event("update", urn(VOLCANO_JOB, f"{name}-job", TRAINING_JOB), job, job),
        step_event("update", urn(CONFIG_MAP, f"{name}-deployed", TRAINING_JOB), *sides),
    ]


def reviewed(*of_jobs: dict[str, Any]) -> tuple[JobReview, ...]:
    return jobs_of(read_preview(previews.stream(*of_jobs)))


def test_a_component_has_everything_below_it_and_both_records() -> None:
    other = step_event("create", urn(CONFIG_MAP, "other"), None, state({}))
    (job,) = reviewed(*events(record().data(), record(run=2).data()), other)
    assert job.name == "bert"
    assert job.component is not None
    assert job.component.type == TRAINING_JOB
    assert job.job is not None
    assert job.job.name == "bert-job"
    assert (job.before, job.after) == (record(), record(run=2))
    assert [step.name for step in job.steps] == ["bert-node", "bert-job", "bert-deployed", "bert-inner"]
    assert job.not_checked == ()


def test_jobs_of_one_program_are_in_the_order_of_their_names() -> None:
    jobs = reviewed(*events(None, record().data(), "resnet"), *events(record().data(), None))
    assert [job.name for job in jobs] == ["bert", "resnet"]
    assert [(job.before is None, job.after is None) for job in jobs] == [(False, True), (True, False)]
    assert [len(job.steps) for job in jobs] == [4, 4]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"revision": "1f3a9c"}, "in the ConfigMap bert-deployed cannot be read: Object missing required field `job`."),
        ({**record().data(), "run": 5}, "of bert cannot be read: its data is secret or unknown."),
        (secret(), "of bert cannot be read: its data is secret or unknown."),
        ({**record().data(), "job": previews.UNKNOWN_TEXT}, "of bert cannot be read: its data is secret or unknown."),
    ],
)
def test_a_record_that_cannot_be_read_is_not_checked(data: Any, reason: str) -> None:
    (job,) = reviewed(*events(data, None))
    assert job.before is None
    assert job.not_checked == (f"The record of what is deployed {reason}",)


def test_secrets_of_a_record_are_masked_and_it_is_read() -> None:
    experiment = {"name": "bert", "env": {"HF_TOKEN": "hunter2-hunter2"}}
    (job,) = reviewed(*events(record(experiment=experiment).data(), record().data()))
    assert job.before is not None
    assert job.before.experiment == {"name": "bert", "env": {"HF_TOKEN": "[secret]"}}
    assert "hunter2" not in repr(job)


@pytest.mark.parametrize(
    ("type_", "is_one"),
    [
        ("batch.volcano.sh/v1alpha1:Job", True),
        ("kubeflow.org/v1:PyTorchJob", True),
        ("training.kubedl.io/v1alpha1:PyTorchJob", True),
        ("trainer.kubeflow.org/v1alpha1:TrainJob", True),
        ("jobset.x-k8s.io/v1alpha2:JobSet", True),
        ("trainer.kubeflow.org/v1alpha1:TrainingRuntime", False),
        ("flow.volcano.sh/v1alpha1:JobTemplate", False),
        ("batch.volcano.sh/v1alpha1:CronJob", False),
        ("batch/v1:Job", False),
    ],
)
def test_job_objects_of_other_programs_are_jobs_without_a_record(type_: str, is_one: bool) -> None:
    jobs = reviewed(
        step_event("create", urn(f"kubernetes:{type_}", "train"), None, state({"metadata": {"name": "llama"}}))
    )
    assert [(job.name, job.component, job.before, job.after) for job in jobs] == (
        [("llama", None, None, None)] if is_one else []
    )
