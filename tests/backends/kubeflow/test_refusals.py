"""What a job of training-operator v1 cannot express: refused by name, with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.kubeflow.test_backend import BACKEND, ELASTIC, MPI, NODE, POOL, QUEUE, TENSORFLOW, problems_on, spec
from tests.support.samples import environment, reasons


def test_a_ranked_launcher_needs_a_gpu() -> None:
    assert problems_on(**NODE) == {}
    assert spec(**NODE)["mpiReplicaSpecs"].keys() == {"Launcher", "Worker"}
    kinds = {"a800": {"resource": "example.com/npu", "per_node": 8, "nodes": 8}}
    (reason,) = reasons(environment(accelerators=kinds, mpi_job="v1"), **BACKEND, **NODE).values()
    assert reason.startswith("the launcher is ranked, and training-operator counts it as a node only if")
    with_gpu = {**MPI, "roles": {**MPI["roles"], "launcher": {"ranked": False, "accelerators": {"a800": 1}}}}
    assert list(problems_on(**with_gpu)) == ["roles.launcher"]


@pytest.mark.parametrize(
    ("parts", "path"), [({"ssh": {}}, "ssh"), ({"network": {"addresses": "service"}}, "network.addresses")]
)
def test_fields_that_an_mpi_job_does_not_use(parts: dict[str, Any], path: str) -> None:
    assert problems_on(**MPI, **parts)[path].startswith("an MPIJob does not use")


def test_an_mpi_job_has_one_number_of_slots() -> None:
    uneven = {**NODE, "roles": {**NODE["roles"], "rest": {"replicas": 2, "accelerators": {"a800": 4}}}}
    assert "slotsPerWorker" in problems_on(**uneven)["roles"]


def test_unsupported_restarts() -> None:
    (reason,) = [problems_on(roles=POOL, restart="all-when-evicted")["restart"]]
    assert reason == "the value restarts the whole job, and a PyTorchJob cannot do that"
    one = {**POOL, "worker": {"replicas": 3, "restart": "all-when-evicted"}}
    assert problems_on(roles=one).keys() == {"roles.worker.restart"}
    differ = {"master": {"restart": "1 time"}, "worker": {"replicas": 3, "restart": "on-failure", "max_retry": 9}}
    assert "one `backoffLimit`" in problems_on(roles=differ)["roles"]


@pytest.mark.parametrize(
    ("roles", "path", "reason"),
    [
        (
            {**POOL, "extra": {"ranked": False, "command": ["a"]}},
            "roles.extra.ranked",
            "a PyTorchJob has no unranked roles",
        ),
        (
            {"worker": {}, "master": {"ranked": False, "command": ["a"]}},
            "roles.master.ranked",
            "a PyTorchJob has no unranked roles",
        ),
        (
            {**POOL, "third": {}},
            "roles.third",
            "the role would be the Worker of the PyTorchJob, and the role worker is",
        ),
        (
            {"first": {"replicas": 2}, "second": {}},
            "roles.second",
            "the role would be the Worker of the PyTorchJob, and the role first is",
        ),
    ],
)
def test_roles_that_have_no_replica_type(roles: dict[str, Any], path: str, reason: str) -> None:
    found = problems_on(roles=roles)
    assert list(found) == [path]
    assert found[path].startswith(reason)


def test_an_elastic_job_has_one_role() -> None:
    assert list(problems_on(**{**ELASTIC, "roles": {"a": {"replicas": 2}, "b": {"replicas": 2}}})) == ["roles.b"]


def test_tensorflow_has_no_extras() -> None:
    roles = {**TENSORFLOW["roles"], "board": {"ranked": False, "command": ["tensorboard"]}}
    assert list(problems_on(**{**TENSORFLOW, "roles": roles})) == ["roles.board.ranked"]
    twice = {"launcher": {"tensorflow": {"command": ["a"], "task_types": {"a": "worker", "b": "worker"}}}}
    assert list(problems_on(**twice, roles={"a": {}, "b": {}})) == ["roles.b"], "the launcher says it, and once"


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"policies": []}, "policies"),
        ({"roles": {**POOL, "worker": {"policies": []}}}, "roles.worker.policies"),
        ({"network": {"host": True, "ports": "per-replica"}}, "network.ports"),
        ({"network": {"topology": {"highest_tier": 1}}}, "network.topology"),
        ({"annotations": {QUEUE: "night"}}, f"annotations.{QUEUE}"),
    ],
)
def test_unsupported_fields(parts: dict[str, Any], path: str) -> None:
    assert list(problems_on(**{"roles": POOL, **parts})) == [path]


@pytest.mark.parametrize(
    ("role", "path"),
    [
        (
            {"labels": {"training.kubeflow.org/replica-index": "7"}},
            "roles.worker.labels.training.kubeflow.org/replica-index",
        ),
        ({"annotations": {"volcano.sh/task-spec": "x"}}, "roles.worker.annotations.volcano.sh/task-spec"),
    ],
)
def test_keys_that_the_operator_overwrites_are_refused(role: dict[str, Any], path: str) -> None:
    assert list(problems_on(roles={"worker": role}, cluster=environment(limits={}))) == [path]


@pytest.mark.parametrize(
    "wreck", [{"spec": None}, {"metadata": None}, {"spec": {"containers": None}}, {"spec": {"containers": ["a"]}}]
)
@pytest.mark.parametrize("network", [{}, {"host": True}])
def test_patches_that_make_a_template_malformed_are_reported(wreck: dict[str, Any], network: dict[str, Any]) -> None:
    found = problems_on(roles={"worker": {"pod_overrides": wreck}}, network=network)
    assert found
    assert all(path.startswith("roles.worker.pod_overrides.") for path in found)
