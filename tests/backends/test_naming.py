"""What each operator calls pods, groups of pods and their addresses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, experiment
from trainform.backends.backend import BACKENDS
from trainform.plan.build import chosen_backend
from trainform.plan.model import Agent, Naming
from trainform.spec import Experiment

JOB = "sdxl-lora-1f3a9c"
POOL: dict[str, Any] = {"head": {}, "body": {"replicas": 3}, "extra": {"ranked": False, "command": ["a"]}}
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["a"]}}}
APART: dict[str, Any] = {
    "launcher": {"deepspeed": {"script": "a.py", "role": "extra"}},
    "roles": {"body": {}, "extra": {"ranked": False}},
}
ELASTIC: dict[str, Any] = {"launcher": {"torchrun": {"script": "a.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}}
TASKS: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["a"], "task_types": {"head": "chief"}}},
    "roles": {"head": {}, "ps": {}, "worker": {"replicas": 2}, "stray": {}},
}


def naming_of(made: Experiment) -> Naming:
    assert made.backend is not None
    return BACKENDS[made.backend].naming(made)


@pytest.mark.parametrize(
    ("backend", "pod", "address"),
    [
        ("volcano", f"{JOB}-worker-2", f"{JOB}-worker-2.sdxl-lora"),
        ("jobset", f"{JOB}-worker-0-2", f"{JOB}-worker-0-2.sdxl-lora"),
        ("trainer", f"{JOB}-worker-0-2", f"{JOB}-worker-0-2.sdxl-lora"),
        ("kubeflow", f"{JOB}-worker-2", f"{JOB}-worker-2"),
        ("kubedl", f"{JOB}-worker-2", f"{JOB}-worker-2"),
    ],
)
def test_pods(backend: str, pod: str, address: str) -> None:
    naming = naming_of(experiment(backend=backend))
    assert naming.pod_name(JOB, "worker", 2) == pod
    assert naming.address_of(pod, "sdxl-lora", JOB) == address
    assert naming.own_service is ("." in address)


def test_the_environments_operator() -> None:
    assert chosen_backend(experiment(), environment(backend="jobset")) == "jobset"
    assert chosen_backend(experiment(backend="kubeflow"), environment(backend="jobset")) == "kubeflow"


def test_an_operator_with_an_agent_of_its_own() -> None:
    """Its launcher is one pod, without a number."""
    naming = naming_of(experiment(backend="kubeflow", **MPI))
    assert naming.agent == Agent("/etc/mpi/kubexec.sh", "/etc/mpi/hostfile", "/opt/kube/kubectl", "kubectl-delivery")
    assert [naming.pod_name(JOB, group, 0) for group in ("launcher", "worker")] == [
        f"{JOB}-launcher",
        f"{JOB}-worker-0",
    ]
    for other in ({"backend": "kubeflow"}, {"backend": "volcano", **MPI}, {"backend": "kubedl", **MPI}):
        assert naming_of(experiment(**other)).agent is None


@pytest.mark.parametrize(
    ("backend", "host", "draws"),
    [("kubedl", True, True), ("kubedl", False, False), ("kubeflow", True, False), ("volcano", True, False)],
)
def test_who_draws_the_ports(backend: str, host: bool, draws: bool) -> None:
    made = experiment(backend=backend, network={"host": host})
    assert naming_of(made).draws_ports is draws


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
@pytest.mark.parametrize(
    ("parts", "groups"),
    [
        ({"roles": POOL}, ["master", "worker", "extra"]),
        ({"roles": {"only": {}}}, ["master"]),
        ({"roles": {"only": {"replicas": 2}}}, ["worker"]),
        ({"roles": {"first": {"replicas": 2}, "second": {}}}, ["worker", "worker"]),
        ({"roles": {"only": {}}, **ELASTIC}, ["worker"]),
        (APART, ["worker", "master"]),
        ({"roles": POOL, **MPI}, ["launcher", "worker", "extra"]),
        (TASKS, ["chief", "ps", "worker", "stray"]),
    ],
)
def test_replica_types(backend: str, parts: dict[str, Any], groups: list[str]) -> None:
    made = experiment(**parts)
    assert [*BACKENDS[backend].groups(made).values()] == groups


def test_elsewhere_a_group_is_called_like_its_role() -> None:
    made = experiment(roles=POOL)
    assert [*BACKENDS["volcano"].groups(made).values()] == list(POOL)
