"""Claims, Services, the launch files and the Secret with the SSH identity."""

from __future__ import annotations

from typing import Any

from tests.support.samples import plan
from trainform.backends.volcano.controller import controller_objects
from trainform.job.render import job_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan

OURS = {
    "app.kubernetes.io/managed-by": "trainform",
    "app.kubernetes.io/name": "sdxl-lora",
    "trainform.dev/environment": "dev",
}


def manifest(made: Plan, key: str) -> Manifest:
    return next(found for found in job_manifests(made) if found.key == key)


def test_a_claim_of_the_default_class_has_no_storage_class_name() -> None:
    found = manifest(plan(storage={"runs": {"size": "1Gi", "mount": "/runs"}}), "claim-runs")
    assert not found.keep
    assert "storageClassName" not in found.body["spec"]


HOST: dict[str, Any] = {"host": True, "addresses": "service"}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python"]}}, "roles": {"ps": {}, "worker": {"replicas": 2}},
}  # fmt: skip


def selector(**of_replica: str) -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "trainform", "app.kubernetes.io/name": "sdxl-lora", **of_replica}


def test_a_service_for_each_replica() -> None:
    made = plan(**TENSORFLOW, network=HOST)
    keys = [found.key for found in job_manifests(made)]
    assert keys == [
        "service",
        "service-ps-0",
        "service-worker-0",
        "service-worker-1",
        "launch-script",
        "job",
        "deployed",
    ]
    found = manifest(made, "service-worker-1")
    assert found.revision is None
    assert (found.body["metadata"]["name"], found.body["metadata"]["labels"]) == ("sdxl-lora-worker-1", OURS)
    (port,) = [port.number for port in made.roles[1].ports[0]]
    assert found.body["spec"] == {
        "publishNotReadyAddresses": True,
        "selector": selector(**{"app.kubernetes.io/component": "worker", "volcano.sh/task-index": "1"}),
        "ports": [{"name": "tensorflow", "port": 2222, "targetPort": port, "protocol": "TCP"}],
    }


def test_a_service_selects_exactly_its_replica() -> None:
    """By the operator's label if replicas share a template, by trainform's own if each has its own: the only pod of a
    task has index 0."""
    for ports in ("shared", "per-replica"):
        made = plan(**TENSORFLOW, network={**HOST, "ports": ports})
        pods, _ = controller_objects(next(found.body for found in job_manifests(made) if found.key == "job"))
        names = {(pod.role, pod.index): pod.name for pod in made.pods()}
        for service in made.services:
            wanted = manifest(made, f"service-{service.role}-{service.index}").body["spec"]["selector"]
            chosen = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"].items() >= wanted.items()]
            assert chosen == [names[service.role, service.index]]


def test_the_secret_of_the_users_own_ssh_identity_is_not_rendered() -> None:
    made = plan(
        launcher={"mpi": {"command": ["python"]}}, roles={"master": {}, "worker": {}}, ssh={"secret": "team.keys"}
    )
    assert [found.key for found in job_manifests(made)] == ["service", "launch-script", "job", "deployed"]
