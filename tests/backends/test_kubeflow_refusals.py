"""What a job of training-operator v1 cannot express: refused by name, with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.test_kubeflow import BACKEND, ELASTIC, MPI, NODE, POOL, QUEUE, TENSORFLOW, spec, told
from tests.samples import environment, reasons


def test_a_launcher_that_computes() -> None:
    assert told(**NODE) == {}
    assert spec(**NODE)["mpiReplicaSpecs"].keys() == {"Launcher", "Worker"}
    kinds = {"a800": {"resource": "example.com/npu", "per_node": 8, "nodes": 8}}
    (reason,) = reasons(environment(accelerators=kinds), **BACKEND, **NODE).values()
    assert reason.startswith("is a node of the world, and training-operator counts a launcher as one only where")
    with_gpu = {**MPI, "roles": {**MPI["roles"], "launcher": {"ranked": False, "accelerators": {"a800": 1}}}}
    assert list(told(**with_gpu)) == ["roles.launcher"]


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"ssh": {}}, "ssh"),
        ({"network": {"addresses": "service"}}, "network.addresses"),
    ],
)
def test_what_has_no_use_in_an_mpi_job(parts: dict[str, Any], path: str) -> None:
    assert told(**MPI, **parts)[path].startswith("has no use")


def test_an_mpi_job_has_one_number_of_slots() -> None:
    uneven = {**NODE, "roles": {**NODE["roles"], "rest": {"replicas": 2, "accelerators": {"a800": 4}}}}
    assert "slotsPerWorker" in told(**uneven)["roles"]


def test_restarts_that_there_is_no_word_for() -> None:
    (reason,) = [told(roles=POOL, restart="all-when-evicted")["restart"]]
    assert reason == "starts the whole job anew, which a PyTorchJob cannot"
    one = {**POOL, "worker": {"replicas": 3, "restart": "all-when-evicted"}}
    assert told(roles=one).keys() == {"roles.worker.restart"}
    differ = {"master": {"restart": "1 time"}, "worker": {"replicas": 3, "restart": "on-failure", "max_retry": 9}}
    assert "one `backoffLimit`" in told(roles=differ)["roles"]


@pytest.mark.parametrize(
    ("roles", "path", "reason"),
    [
        ({**POOL, "extra": {"ranked": False, "command": ["a"]}}, "roles.extra.ranked", "is an extra"),
        ({"worker": {}, "master": {"ranked": False, "command": ["a"]}}, "roles.master.ranked", "is an extra"),
        ({**POOL, "third": {}}, "roles.third", "would be Worker of the PyTorchJob, as worker is"),
        ({"first": {"replicas": 2}, "second": {}}, "roles.second", "would be Worker of the PyTorchJob, as first is"),
    ],
)
def test_roles_that_have_no_replica_type(roles: dict[str, Any], path: str, reason: str) -> None:
    found = told(roles=roles)
    assert list(found) == [path]
    assert found[path].startswith(reason)


def test_an_elastic_job_has_one_role() -> None:
    assert list(told(**{**ELASTIC, "roles": {"a": {"replicas": 2}, "b": {"replicas": 2}}})) == ["roles.b"]


def test_tensorflow_has_no_extras() -> None:
    roles = {**TENSORFLOW["roles"], "board": {"ranked": False, "command": ["tensorboard"]}}
    assert list(told(**{**TENSORFLOW, "roles": roles})) == ["roles.board.ranked"]
    twice = {"launcher": {"tensorflow": {"command": ["a"], "task_types": {"a": "worker", "b": "worker"}}}}
    assert list(told(**twice, roles={"a": {}, "b": {}})) == ["roles.b"], "the launcher says it, and once"


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
def test_what_it_has_not(parts: dict[str, Any], path: str) -> None:
    assert list(told(**{"roles": POOL, **parts})) == [path]


@pytest.mark.parametrize(
    ("role", "path"),
    [
        ({"labels": {"training.kubeflow.org/replica-index": "7"}}, "roles.worker.labels.training.kubeflow.org/replica-index"),
        ({"annotations": {"volcano.sh/task-spec": "x"}}, "roles.worker.annotations.volcano.sh/task-spec"),
        ({"init": [{"name": "init-pytorch", "command": ["a"]}]}, "roles.worker.init[0].name"),
        ({"init": [{"name": "first", "command": ["a"]}, {"name": "pytorch", "command": ["a"]}]}, "roles.worker.init[1].name"),
        ({"pod_overrides": {"spec": {"containers": [{"name": "mine", "image": "a"}]}}}, "roles.worker.pod_overrides.spec.containers"),
    ],
)  # fmt: skip
def test_what_the_operator_would_overwrite(role: dict[str, Any], path: str) -> None:
    assert list(told(roles={"worker": role}, cluster=environment(limits={}))) == [path]


def test_a_step_of_prepare_with_a_name_that_is_taken() -> None:
    assert list(told(prepare=[{"name": "init-pytorch", "command": ["a"]}])) == ["prepare[0].name"]


def test_volumes_that_the_operator_adds() -> None:
    claims = {"mpi-job-config": {"claim": "data", "mount": "/data"}}
    assert "storage.mpi-job-config" in told(**MPI, storage=claims)


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"runPolicy": {"schedulingPolicy": {"queue": "night"}}}, "spec.runPolicy.schedulingPolicy.queue"),
        ({"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}}, "spec.runPolicy.schedulingPolicy.minAvailable"),
        ({"runPolicy": None}, "spec.runPolicy"),
        ({"pytorchReplicaSpecs": {"Worker": {"replicas": 7}}}, "spec.pytorchReplicaSpecs.Worker.replicas"),
        ({"pytorchReplicaSpecs": {"Worker": None}}, "spec.pytorchReplicaSpecs.Worker"),
        ({"pytorchReplicaSpecs": {"Extra": {"replicas": 1}}}, "spec.pytorchReplicaSpecs.Extra.template"),
        ({"pytorchReplicaSpecs": {"Extra": {"replicas": 1, "template": {"spec": {}}}}}, "spec.pytorchReplicaSpecs"),
        (
            {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}}},
            "spec.pytorchReplicaSpecs.Worker.template.spec.containers",
        ),
    ],
)
def test_patches_of_what_the_plan_decides(patch: dict[str, Any], path: str) -> None:
    assert list(told(roles=POOL, manifest_overrides={"job": {"spec": patch}})) == [f"manifest_overrides.job.{path}"]


@pytest.mark.parametrize(
    "wreck", [{"spec": None}, {"metadata": None}, {"spec": {"containers": None}}, {"spec": {"containers": ["a"]}}]
)
@pytest.mark.parametrize("network", [{}, {"host": True}])
def test_patches_that_wreck_a_template_are_told(wreck: dict[str, Any], network: dict[str, Any]) -> None:
    found = told(roles={"worker": {"pod_overrides": wreck}}, network=network)
    assert found
    assert all(path.startswith("roles.worker.pod_overrides.") for path in found)


def test_kueue_does_not_admit_them() -> None:
    assert list(reasons(environment(admission="kueue"), **BACKEND, roles=POOL)) == ["backend"]
