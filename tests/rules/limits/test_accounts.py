"""The service accounts of pods."""

from __future__ import annotations

import datetime
from typing import Any

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.samples import experiment
from trainform.backends.judged import judged_job
from trainform.backends.pods import pods_of
from trainform.backends.table import BACKENDS
from trainform.render import render_job
from trainform.rules.limits.table import judge as judge_all

TODAY = datetime.date(2026, 3, 31)

TRAIN = limited(service_accounts=["train"])
REFUSED = "the environment dev does not allow this service account (allowed: train)"


def test_service_accounts_by_field() -> None:
    assert found("TF-ACC-1", TRAIN, service_account="train") == {}
    assert found("TF-ACC-1", TRAIN, service_account="admin") == {"service_account": REFUSED}
    assert found("TF-ACC-1", TRAIN) == {"service_account": REFUSED}, "pods that name none have the account default"
    assert found("TF-ACC-1", limited(service_accounts=["default"])) == {}
    assert found("TF-ACC-1", limited(), service_account="admin") == {}
    assert found("TF-ACC-1", limited(service_accounts=[]), service_account="train") != {}


def test_service_accounts_in_patches() -> None:
    for judge, rest in ((by_role, {}), (by_job, {"service_account": "train"})):
        assert set(judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "admin"}}, **rest).values()) == {REFUSED}
        assert judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "train"}}, **rest) == {}


def test_the_deprecated_field() -> None:
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "admin"})) == {"spec.serviceAccount": REFUSED}
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "train"})) == {}
    both = {"serviceAccountName": "train", "serviceAccount": "admin"}
    assert raw("TF-ACC-1", TRAIN, {}, pod(both)) == {}, "the new field counts"
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccountName": ""})).keys() == {"spec.serviceAccountName"}


MPI: dict[str, Any] = {
    "backend": "kubeflow",
    "launcher": {"mpi": {"command": ["python", "train.py"], "role": "launcher"}},
    "roles": {"launcher": {"replicas": 1, "ranked": False}, "worker": {"replicas": 2}},
}


def test_the_account_that_an_operator_makes() -> None:
    """The launcher of an MPIJob may run commands in the workers by it."""
    default = limited(service_accounts=["default"])
    (reason,) = found("TF-ACC-1", default, **MPI).values()
    assert reason.startswith("the operator makes this service account for pods that name none; the environment dev")
    assert found("TF-ACC-1", TRAIN, service_account="train", **MPI) == {}
    assert found("TF-ACC-1", limited(), **MPI) == {}
    replicas: dict[str, Any] = {"Launcher": {"template": {"spec": {}}}, "Worker": {"template": {"spec": {}}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "a"}, "spec": {"mpiReplicaSpecs": replicas}}  # fmt: skip
    names = [pods.template.account for pods in pods_of(job)]
    assert names == ["a-launcher", ""]
    assert [pods.template.account for pods in pods_of({**job, "apiVersion": "kubeflow.org/v2beta1"})] == ["", ""]


def test_the_fingerprint_of_a_made_account_is_the_same_in_every_run() -> None:
    """Its name has the revision of the job."""
    where = limited(service_accounts=["default"], waivable={"TF-ACC-1": ["lead"]})
    found_in = [render_job(experiment(**MPI), where, run=run, today=TODAY).problems for run in (1, 2)]
    (one,), (other,) = ([each.fingerprint for each in problems if each.code == "TF-ACC-1"] for problems in found_in)
    assert one == other
    until = TODAY + datetime.timedelta(days=9)
    waiver = {"rule": "TF-ACC-1", "finding": one, "reason": "agreed", "owner": "lead", "until": until}
    job = render_job(experiment(**MPI, waivers=[waiver]), where, today=TODAY)
    assert job.problems == ()
    judged = judged_job(job.experiment, job.plan, job.manifests, BACKENDS["kubeflow"])
    of_rendered = {
        each.fingerprint(job.plan.experiment) for each in judge_all(judged, where) if each.rule.code == "TF-ACC-1"
    }
    assert of_rendered == {one}
