"""Amounts and mounts at the borders of what Kubernetes takes."""

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


def test_mounts_that_do_not_meet() -> None:
    """tests/spec/bad/mount-taken-twice has those that do."""

    def storage(*paths: str) -> dict[str, Any]:
        return {f"volume-{index}": {"claim": f"claim-{index}", "mount": path} for index, path in enumerate(paths)}

    assert reasons(storage=storage("/mnt", "/mnt/data", "/mnt2")) == {}
    assert reasons(storage=storage("/dev/shm")) == {}, "no shared memory, no clash"  # noqa: S108
    tools = {**storage("/etc/trainform")["volume-0"], "roles": ["evaluation-watcher"]}
    assert reasons(roles=WITH_EXTRAS, storage={"tools": tools}) == {}
    apart = {
        "a": {"claim": "same", "mount": "/a", "roles": ["worker"]},
        "b": {"claim": "same", "mount": "/a", "roles": ["master"]},
    }
    assert reasons(roles={"worker": {}, "master": {}}, storage=apart) == {}, "each role mounts it once"
