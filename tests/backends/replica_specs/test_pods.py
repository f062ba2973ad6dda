"""What all jobs of replica specs have in common, for the environment's rules."""

from __future__ import annotations

import pytest

from trainform.backends.kubedl.backend import KubeDL
from trainform.backends.kubeflow.backend import Kubeflow
from trainform.backends.replica_specs.pods import made_account, run_time


@pytest.mark.parametrize(
    ("backend", "policy", "priority_class"),
    [(Kubeflow, "spec.runPolicy", "priorityClass"), (KubeDL, "spec", "priorityClassName")],
)
def test_where_jobs_name_what_rules_read(backend: type, policy: str, priority_class: str) -> None:
    group = backend.API_VERSION.partition("/")[0]  # type: ignore[attr-defined]
    for (of, kind), fields in backend.JOB_FIELDS.items():  # type: ignore[attr-defined]
        assert (of, kind.endswith("Job")) == (group, True)
        assert fields.queue == f"{policy}.schedulingPolicy.queue"
        assert fields.priority_class == f"{policy}.schedulingPolicy.{priority_class}"
        assert fields.ttl == f"{policy}.ttlSecondsAfterFinished"


def test_when_a_job_ends() -> None:
    assert run_time({"spec": {"runPolicy": {"activeDeadlineSeconds": 60}}}) == 60
    assert run_time({"spec": {"activeDeadlineSeconds": 60}}) == 60
    assert run_time({"spec": {"runPolicy": {}}}) is None


def test_the_account_of_a_launcher() -> None:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "example"}}
    assert made_account(job, "Launcher") == "example-launcher"
    assert made_account(job, "Worker") == made_account({**job, "kind": "PyTorchJob"}, "Launcher") == ""
    assert made_account({**job, "apiVersion": "kubeflow.org/v2beta1"}, "Launcher") == ""
