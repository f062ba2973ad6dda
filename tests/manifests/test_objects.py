"""Claims, the Service, the launch script."""

from __future__ import annotations

from typing import Any

from tests.samples import plan
from trainform.backends import job_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan import Plan

OURS = {
    "app.kubernetes.io/managed-by": "trainform",
    "app.kubernetes.io/name": "sdxl-lora",
    "trainform.dev/environment": "dev",
}


def manifest(made: Plan, key: str) -> Manifest:
    return next(found for found in job_manifests(made) if found.key == key)


def test_claims() -> None:
    volume: dict[str, Any] = {"size": "2048Gi", "class": "fast", "mount": "/mnt/output", "keep": True}
    found = manifest(plan(storage={"checkpoints": volume}), "claim-checkpoints")
    assert found.keep
    assert found.body["metadata"]["labels"] == OURS
    assert found.body["metadata"]["name"] == "sdxl-lora-checkpoints"
    assert found.body["spec"] == {
        "accessModes": ["ReadWriteMany"], "storageClassName": "cephfs-ssd", "resources": {"requests": {"storage": "2Ti"}},
    }  # fmt: skip


def test_a_claim_of_the_default_class_names_none() -> None:
    found = manifest(plan(storage={"runs": {"size": "1Gi", "mount": "/runs"}}), "claim-runs")
    assert not found.keep
    assert "storageClassName" not in found.body["spec"]


def test_existing_claims_are_not_made() -> None:
    keys = [found.key for found in job_manifests(plan(storage={"models": {"claim": "models", "mount": "/mnt"}}))]
    assert keys == ["service", "launch-script", "job"]


def test_the_service_never_follows_the_revision() -> None:
    before, after = plan(), plan(image="registry.example.com/ai/pytorch-training:3.0")
    assert before.revision != after.revision
    assert manifest(before, "service") == manifest(after, "service")
    spec = manifest(before, "service").body["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == {"app.kubernetes.io/managed-by": "trainform", "app.kubernetes.io/name": "sdxl-lora"}


def test_the_launch_script_follows_the_revision() -> None:
    made = plan()
    body = manifest(made, "launch-script").body
    assert body["metadata"]["name"] == f"{made.job}-launch"
    assert body["immutable"] is True
    assert body["data"].keys() == {"launch.sh"}
