"""Merge patches on objects: applied, shown, and kept from what the plan has decided."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import JOB, environment, experiment, plan, reasons
from trainform.backends import job_manifests
from trainform.backends.job import job_problems

STORAGE = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}


def patched(key: str, patch: dict[str, Any]) -> dict[str, Any]:
    made = plan(storage=STORAGE, queue={"weight": 2}, manifest_overrides={key: patch})
    assert made.overrides == (f"manifest_overrides.{key}",)
    keys = {"queue": "queue-sdxl-lora"}
    return next(found.body for found in job_manifests(made) if found.key == keys.get(key, key))


def test_every_object_can_be_patched() -> None:
    patch = {"metadata": {"annotations": {"example.com/team": "vision"}}}
    for key in ("job", "service", "launch-script", "queue", "claim-checkpoints"):
        assert patched(key, patch)["metadata"]["annotations"]["example.com/team"] == "vision"
    assert patched("claim-checkpoints", {"spec": {"volumeMode": "Block"}})["spec"]["volumeMode"] == "Block"
    tasks = patched("job", {"spec": {"tasks": {"worker": {"topologyPolicy": "best-effort"}}}})["spec"]["tasks"]
    assert tasks[0]["topologyPolicy"] == "best-effort"


@pytest.mark.parametrize(
    ("key", "patch", "path"),
    [
        ("jobs", {}, "manifest_overrides.jobs"),
        ("claim-models", {}, "manifest_overrides.claim-models"),
        ("job", {"metadata": {"name": "mine"}}, "manifest_overrides.job.metadata.name"),
        ("job", {"metadata": {"name": None}}, "manifest_overrides.job.metadata.name"),
        ("job", {"kind": None}, "manifest_overrides.job.kind"),
        ("job", {"metadata": None}, "manifest_overrides.job.metadata"),
        ("service", {"metadata": {"labels": {"app.kubernetes.io/name": "mine"}}}, "manifest_overrides.service.metadata.labels.app.kubernetes.io/name"),
        ("service", {"metadata": {"labels": None}}, "manifest_overrides.service.metadata.labels"),
        ("job", {"spec": {"queue": "night"}}, "manifest_overrides.job.spec.queue"),
        ("job", {"spec": {"minAvailable": 1}}, "manifest_overrides.job.spec.minAvailable"),
        ("job", {"spec": {"tasks": {"worker": {"replicas": 9}}}}, "manifest_overrides.job.spec.tasks.worker.replicas"),
        ("job", {"spec": {"tasks": {"worker": None}}}, "manifest_overrides.job.spec.tasks.worker"),
        ("claim-checkpoints", {"spec": {"resources": None}}, "manifest_overrides.claim-checkpoints.spec.resources"),
        ("launch-script", {"data": {"launch.sh": 1}}, "manifest_overrides.launch-script.data.launch.sh"),
    ],
)  # fmt: skip
def test_what_a_patch_may_not_touch(key: str, patch: dict[str, Any], path: str) -> None:
    assert path in reasons(storage=STORAGE, manifest_overrides={key: patch})


@pytest.mark.parametrize("label", ["app.kubernetes.io/name", "app.kubernetes.io/component", "trainform.dev/revision"])
@pytest.mark.parametrize("value", ["mine", None])
def test_labels_of_pods_that_are_ours(label: str, value: str | None) -> None:
    found = reasons(roles={"worker": {"pod_overrides": {"metadata": {"labels": {label: value}}}}})
    assert found == {f"roles.worker.pod_overrides.metadata.labels.{label}": "is set by trainform itself"}


def test_an_object_larger_than_etcd_keeps() -> None:
    large = {f"PART_{number}": "x" * 100_000 for number in range(12)}
    (problem,) = job_problems(experiment(env=large), environment())
    assert problem.reason.endswith("etcd keeps at most 1048576")
    assert job_problems(experiment(env={"PART": "x" * 100_000}, roles=JOB["roles"]), environment()) == []
