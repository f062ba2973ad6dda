"""Patches beside the definitions of a live cluster: what only its version of an operator does not know."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import plan
from trainform.cluster.definitions import refused_patches
from trainform.objects import job_manifests


def definition(version: str = "v1alpha1", group: str = "batch.volcano.sh", **fields: Any) -> dict[str, Any]:
    """That of an older Volcano, without fields of jobs that later ones have."""
    task = {
        "type": "object",
        "properties": {name: {} for name in ("name", "replicas", "minAvailable", "maxRetry", "template", "policies")},
    }
    job = {
        "minAvailable": {"type": "integer"},
        "tasks": {"type": "array", "items": task},
        "queue": {},
        "plugins": {},
        "policies": {},
    } | fields
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": job}}}
    versions = [{"name": version, "schema": {"openAPIV3Schema": schema}}]
    return {"metadata": {"name": f"jobs.{group}"}, "spec": {"group": group, "names": {"kind": "Job"}, "versions": versions}}  # fmt: skip


def refused(of: dict[str, Any], **parts: Any) -> list[tuple[str, str]]:
    made = plan(**parts)
    return [*refused_patches(of, made, job_manifests(made))]


PATCH = {"manifest_overrides": {"job": {"spec": {"minSuccess": 1}}}}


def test_a_field_that_the_cluster_does_not_know() -> None:
    ((reason, fix),) = refused(definition(), **PATCH)
    assert reason.startswith(
        "a patch makes spec.minSuccess of the Job what jobs.batch.volcano.sh of this cluster does not allow"
    )
    assert fix.endswith("; or update the operator there")
    assert refused(definition(minSuccess={"type": "integer"}), **PATCH) == []
    assert refused(definition(minSuccess={"type": "string"}), **PATCH) != []


def test_what_trainform_itself_renders_is_no_matter_of_a_patch() -> None:
    """Of this definition `schedulerName` and `maxRetry` are unknown too."""
    assert refused(definition()) == []
    annotations = {"metadata": {"annotations": {"example.com/team": "vision"}}}
    assert refused(definition(), manifest_overrides={"job": annotations}) == []


@pytest.mark.parametrize(
    "of", [definition(version="v2"), definition(group="batch.example.com"), {}, {"spec": {"versions": [3]}}]
)
def test_a_definition_of_something_else(of: dict[str, Any]) -> None:
    assert refused(of, **PATCH) == []


def test_a_patch_of_pods() -> None:
    roles = {"worker": {"replicas": 2, "pod_overrides": {"spec": {"hostUsers": False}}}}
    old = definition()
    pods = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"containers": {}, "subdomain": {}}}, "metadata": {}},
    }
    old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["tasks"]["items"][
        "properties"
    ]["template"] = pods
    ((reason, _),) = refused(old, roles=roles)
    assert reason.startswith("a patch makes spec.tasks.worker.template.spec.hostUsers of the Job")
