"""What the controllers of training-operator and KubeDL read in their jobs alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.backends.kubeflow.test_backend import ELASTIC, POOL, TENSORFLOW
from tests.backends.kubeflow.test_backend import MPI as LAUNCHER_APART
from tests.support.samples import environment, experiment, job, plan
from trainform.backends.backend import BACKENDS
from trainform.backends.replica_specs.kinds import declared_port, rendered_specs, run_time, tf_config
from trainform.job.render import job_manifests


def tensorflow(**replicas: int) -> dict[str, Any]:
    pods = {"metadata": {}, "spec": {"containers": [{"name": "tensorflow"}]}}
    specs = {name: {"replicas": count, "template": pods} for name, count in replicas.items()}
    return {
        "kind": "TFJob",
        "metadata": {"name": "mnist-1f3a9c", "namespace": "team-vision"},
        "spec": {"tfReplicaSpecs": specs},
    }


@pytest.mark.parametrize(
    ("ports", "number"),
    [
        ([], 2222),
        ([{"name": "tfjob-port", "containerPort": 7000}], 7000),
        ([{"name": "metrics", "containerPort": 9090}], 2222),
    ],
)
def test_the_declared_port(ports: list[dict[str, Any]], number: int) -> None:
    job = tensorflow(Worker=2)
    rendered_specs(job)["Worker"]["template"]["spec"]["containers"] = [
        {"name": "log", "ports": [{"name": "tfjob-port", "containerPort": 1}]},
        {"name": "tensorflow", "ports": ports},
    ]
    assert declared_port(job, "Worker") == number


def test_tf_config() -> None:
    text = tf_config(tensorflow(Worker=2, PS=1, Evaluator=1), ("Worker", 1), lambda name, index: 2222 + index)
    assert text is not None
    address = "mnist-1f3a9c-{}.team-vision.svc:{}"
    assert json.loads(text) == {
        "cluster": {
            "evaluator": [address.format("evaluator-0", 2222)],
            "ps": [address.format("ps-0", 2222)],
            "worker": [address.format("worker-0", 2222), address.format("worker-1", 2223)],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    assert tf_config(tensorflow(Worker=1), ("Worker", 0), lambda name, index: 2222) is None


def test_when_a_job_ends() -> None:
    assert run_time({"spec": {"runPolicy": {"activeDeadlineSeconds": 60}}}) == 60
    assert run_time({"spec": {"activeDeadlineSeconds": 60}}) == 60
    assert run_time({"spec": {"runPolicy": {}}}) is None


ROLES: dict[str, Any] = {"head": {}, "body": {"replicas": 3}, "extra": {"ranked": False, "command": ["a"]}}
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["a"]}}}
APART: dict[str, Any] = {
    "launcher": {"deepspeed": {"script": "a.py", "role": "extra"}},
    "roles": {"body": {}, "extra": {"ranked": False}},
}
TASKS: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["a"], "task_types": {"head": "chief"}}},
    "roles": {"head": {}, "ps": {}, "worker": {"replicas": 2}, "stray": {}},
}


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
@pytest.mark.parametrize(
    ("parts", "groups"),
    [
        ({"roles": ROLES}, ["master", "worker", "extra"]),
        ({"roles": {"only": {}}}, ["master"]),
        ({"roles": {"only": {"replicas": 2}}}, ["worker"]),
        ({"roles": {"first": {"replicas": 2}, "second": {}}}, ["worker", "worker"]),
        ({**ELASTIC, "roles": {"only": {}}}, ["worker"]),
        (APART, ["worker", "master"]),
        ({"roles": ROLES, **MPI}, ["launcher", "worker", "extra"]),
        (TASKS, ["chief", "ps", "worker", "stray"]),
    ],
)
def test_replica_types(backend: str, parts: dict[str, Any], groups: list[str]) -> None:
    assert [*BACKENDS[backend].groups(experiment(**parts)).values()] == groups


CASES: list[dict[str, Any]] = [
    {"roles": POOL},
    {"roles": POOL, "network": {"host": True}},
    {**TENSORFLOW, "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}},
    {**TENSORFLOW, "roles": {"worker": {}}},
]
OF_KUBEFLOW: list[dict[str, Any]] = [{"roles": {"worker": {"replicas": 2}}}, ELASTIC, TENSORFLOW, LAUNCHER_APART]
UNLESS_SET = {"I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC"}  # appended only where the template has none


@pytest.mark.parametrize(
    ("backend", "parts"),
    [("kubedl", parts) for parts in CASES] + [("kubeflow", parts) for parts in (*CASES, *OF_KUBEFLOW)],
)
def test_the_plan_knows_the_appended_variables(backend: str, parts: dict[str, Any]) -> None:
    """Otherwise the operator's value would replace the user's without a note."""
    made = plan(cluster=environment(mpi_job="v1"), backend=backend, **parts)
    specs = {name.lower(): spec["template"]["spec"] for name, spec in rendered_specs(job(made)).items()}
    found = set()
    for pod in BACKENDS[backend].pods(made, job_manifests(made))[0]:
        labels = {name.rpartition("/")[2]: value for name, value in pod["metadata"]["labels"].items()}
        before = len(specs[labels["replica-type"]]["containers"][0]["env"])
        found |= {entry["name"] for entry in pod["spec"]["containers"][0]["env"][before:]}
    assert found - UNLESS_SET == BACKENDS[backend].conventions(made).appended
