"""Claims that ranked pods write to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import found, limited, pod, raw

ASKED = limited(severity={"TF-DATA-1": "error"})
REASON = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
ROLES = {"worker": {"replicas": 2}, "watcher": {"replicas": 1, "ranked": False, "command": ["watch"]}}


def output(**fields: Any) -> dict[str, Any]:
    return {"storage": {"output": {"size": "1Gi", "mount": "/mnt/output", **fields}}, "roles": ROLES}


def test_a_claim_that_is_not_kept() -> None:
    assert found("TF-DATA-1", ASKED, **output()) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", ASKED, **output(keep=False)) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", limited(), **output()) == {}, "off by default"


@pytest.mark.parametrize("fields", [{"keep": True}, {"read_only": True}, {"roles": ["watcher"]}, {"roles": []}])
def test_a_claim_that_is_kept_or_not_written(fields: dict[str, Any]) -> None:
    assert found("TF-DATA-1", ASKED, **output(**fields)) == {}


def test_a_claim_of_somebody_else() -> None:
    storage = {"output": {"claim": "shared", "mount": "/mnt/output"}}
    assert found("TF-DATA-1", ASKED, storage=storage, roles=ROLES) == {}


def test_a_patch_that_makes_a_mount_writable() -> None:
    mount = [{"name": "output", "mountPath": "/mnt/output"}]
    patch = {"spec": {"containers": {"main": {"volumeMounts": mount}}}}
    roles = {"worker": {"replicas": 2, "pod_overrides": patch}}
    parts = {**output(read_only=True), "roles": roles}
    assert found("TF-DATA-1", ASKED, **parts) == {"storage.output.keep": REASON}
    tasks = {"worker": {"template": patch}}
    parts = {**output(read_only=True), "manifest_overrides": {"job": {"spec": {"tasks": tasks}}}}
    assert found("TF-DATA-1", ASKED, **parts) == {"storage.output.keep": REASON}


def test_volumes_of_others() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    volume = {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}
    mounted = [{"volumeMounts": [{"name": "x"}]}]
    assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": [volume]})) == {"keep": REASON}
    closed = {**volume, "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    others: list[Any] = [[closed], [None, "text", {}], None]
    for volumes in others:
        assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": volumes})) == {}
