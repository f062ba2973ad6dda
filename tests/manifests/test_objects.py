"""Claims, Services, the launch files and the Secret with the SSH identity."""

from __future__ import annotations

from typing import Any

from tests.support.samples import plan
from trainform.backends.volcano.controller import controller_objects
from trainform.job.objects import job_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan import Plan

OURS = {
    "app.kubernetes.io/managed-by": "trainform",
    "app.kubernetes.io/name": "sdxl-lora",
    "trainform.dev/environment": "dev",
}


def manifest(made: Plan, key: str) -> Manifest:
    return next(found for found in job_manifests(made) if found.key == key)


def test_a_claim_has_its_size_class_and_labels() -> None:
    volume: dict[str, Any] = {"size": "2048Gi", "class": "fast", "mount": "/mnt/output", "keep": True}
    found = manifest(plan(storage={"checkpoints": volume}), "claim-checkpoints")
    assert found.keep
    assert found.body["metadata"]["labels"] == OURS
    assert found.body["metadata"]["name"] == "sdxl-lora-checkpoints"
    assert found.body["spec"] == {
        "accessModes": ["ReadWriteMany"], "storageClassName": "cephfs-ssd",
        "resources": {"requests": {"storage": "2Ti"}},
    }  # fmt: skip


def test_a_claim_of_the_default_class_has_no_storage_class_name() -> None:
    found = manifest(plan(storage={"runs": {"size": "1Gi", "mount": "/runs"}}), "claim-runs")
    assert not found.keep
    assert "storageClassName" not in found.body["spec"]


def test_existing_claims_are_not_rendered() -> None:
    keys = [found.key for found in job_manifests(plan(storage={"models": {"claim": "models", "mount": "/mnt"}}))]
    assert keys == ["service", "launch-script", "job", "deployed"]


def test_the_service_does_not_depend_on_the_revision() -> None:
    before, after = plan(), plan(image="registry.example.com/ai/pytorch-training:3.0")
    assert before.revision != after.revision
    assert manifest(before, "service") == manifest(after, "service")
    spec = manifest(before, "service").body["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == {"app.kubernetes.io/managed-by": "trainform", "app.kubernetes.io/name": "sdxl-lora"}


def test_the_launch_files_have_the_revision_in_their_name() -> None:
    made = plan()
    body = manifest(made, "launch-script").body
    assert body["metadata"]["name"] == f"{made.job}-launch"
    assert body["immutable"] is True
    assert body["data"] == made.files
    assert body["data"].keys() == {"launch.sh", "wait.sh"}


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


def test_the_provider_does_not_wait_for_services() -> None:
    """Their pods are made later, and the provider's watch may be older than what the provider has just written."""
    made = plan(**TENSORFLOW, network=HOST)
    services = [found.body for found in job_manifests(made) if found.body["kind"] == "Service"]
    assert len(services) == 4
    assert all(body["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true" for body in services)


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


def test_the_rendezvous_service_selects_every_pod() -> None:
    made = plan(**TENSORFLOW, network={**HOST, "ports": "per-replica"})
    pods, _ = controller_objects(manifest(made, "job").body)
    wanted = manifest(made, "service").body["spec"]["selector"]
    assert all(pod["metadata"]["labels"].items() >= wanted.items() for pod in pods)
    assert [pod["metadata"]["name"] for pod in pods] == [pod.name for pod in made.pods()]


def test_the_secret_of_the_ssh_identity_is_rendered_without_keys() -> None:
    made = plan(launcher={"mpi": {"command": ["python"]}}, roles={"master": {}, "worker": {}})
    found = manifest(made, "ssh")
    assert (found.body["kind"], found.body["metadata"]["name"]) == ("Secret", "sdxl-lora-ssh")
    assert found.body["metadata"]["labels"] == OURS
    assert found.revision is None
    assert "BEGIN OPENSSH" not in str(found.body)
    keys = [found.key for found in job_manifests(made)]
    assert keys.index("ssh") < keys.index("job")


def test_the_secret_of_the_users_own_ssh_identity_is_not_rendered() -> None:
    made = plan(
        launcher={"mpi": {"command": ["python"]}}, roles={"master": {}, "worker": {}}, ssh={"secret": "team.keys"}
    )
    assert [found.key for found in job_manifests(made)] == ["service", "launch-script", "job", "deployed"]
