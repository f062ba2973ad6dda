"""Amounts and metadata at the borders of what Kubernetes takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, environment, reasons


def of(resources: dict[str, Any], **role: Any) -> dict[str, str]:
    offering = environment(limits={"resources": ["smarter-devices.io/fuse"]})
    return reasons(offering, roles={"worker": {"resources": resources, **role}})


@pytest.mark.parametrize(
    ("resources", "right"),
    [
        ({"smarter-devices.io/fuse": 1}, True),
        ({"smarter-devices.io/fuse": 0}, True),
        ({"smarter-devices.io/fuse": "1.0"}, True),
        ({"smarter-devices.io/fuse": "1.5"}, False),
        ({"ephemeral-storage": "7Ei"}, True),
        ({"ephemeral-storage": "100m"}, False),
        ({"hugepages-2Mi": "64Mi"}, True),
        ({"hugepages-2Mi": 0}, True),
        ({"cpu": 1}, False),
        ({"rdma/hca": 1}, False),
    ],
)
def test_resources(resources: dict[str, Any], right: bool) -> None:
    assert (of(resources, cpu=8) == {}) is right


@pytest.mark.parametrize(
    "key",
    ["app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/managed-by", "trainform.dev/team"],
)
def test_trainforms_own_keys(key: str) -> None:
    told = "the key is set by trainform itself"
    assert reasons(labels={key: "mine"}) == {f"labels.{key}": told}
    assert reasons(roles={"worker": {"labels": {key: "mine"}}}) == {f"roles.worker.labels.{key}": told}
    assert reasons(annotations={key: "mine"}) == {f"annotations.{key}": told}


def test_mounts_that_meet() -> None:
    def storage(*paths: str) -> dict[str, Any]:
        return {f"volume-{index}": {"claim": f"claim-{index}", "mount": path} for index, path in enumerate(paths)}

    assert reasons(storage=storage("/mnt", "/mnt/data", "/mnt2")) == {}
    assert list(reasons(storage=storage("/mnt", "/mnt/"))) == ["storage.volume-1.mount"]
    assert list(reasons(storage=storage("/etc/trainform"))) == ["storage.volume-0.mount"]
    assert reasons(storage=storage("/dev/shm")) == {}, "no shared memory, no clash"  # noqa: S108
    assert list(reasons(shared_memory="1Gi", storage=storage("/dev/shm"))) == ["storage.volume-0.mount"]  # noqa: S108
    assert (
        reasons(
            roles=WITH_EXTRAS,
            storage={"tools": {**storage("/etc/trainform")["volume-0"], "roles": ["evaluation-watcher"]}},
        )
        == {}
    )
    apart = {
        "a": {"claim": "same", "mount": "/a", "roles": ["worker"]},
        "b": {"claim": "same", "mount": "/a", "roles": ["master"]},
    }
    assert reasons(roles={"worker": {}, "master": {}}, storage=apart) == {}, "each role mounts it once"
