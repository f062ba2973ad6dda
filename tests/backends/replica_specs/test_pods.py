"""What all jobs of replica specs have in common, for the environment's rules."""

from __future__ import annotations

from trainform.backends.replica_specs.kinds import made_account, run_time


def test_when_a_job_ends() -> None:
    assert run_time({"spec": {"runPolicy": {"activeDeadlineSeconds": 60}}}) == 60
    assert run_time({"spec": {"activeDeadlineSeconds": 60}}) == 60
    assert run_time({"spec": {"runPolicy": {}}}) is None


def test_the_account_of_a_launcher() -> None:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "example"}}
    assert made_account(job, "Launcher") == "example-launcher"
    assert made_account(job, "Worker") == made_account({**job, "kind": "PyTorchJob"}, "Launcher") == ""
    assert made_account({**job, "apiVersion": "kubeflow.org/v2beta1"}, "Launcher") == ""
