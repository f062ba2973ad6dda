"""What containers request, as which kind of accelerator it counts, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.samples import environment

OFFER = "the environment dev does not offer the resource"


def asking(amounts: dict[str, Any], field: str = "limits", kind: str = "containers") -> dict[str, Any]:
    """A merge patch of pods with one more container."""
    container = {"name": "aside", "image": "python", "resources": {field: amounts}}
    held = {"aside": container} if kind == "containers" else [container]
    return {"spec": {kind: held}}


def test_a_resource_in_the_domain_of_kubernetes_is_counted_too() -> None:
    for judge in (by_role, by_job):
        assert judge("TF-RES-3", limited(), asking({"kubernetes.io/batch-cpu": 1})) != {}


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "smarter-devices/fuse"])
@pytest.mark.parametrize("field", ["limits", "requests"])
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_only_resources_that_the_environment_offers(resource: str, field: str, kind: str) -> None:
    patch = asking({resource: 1}, field, kind)
    for judge in (by_role, by_job):
        (reason,) = judge("TF-RES-3", limited(), patch).values()
        assert reason.startswith(f"{OFFER} {resource} ")
        assert judge("TF-RES-3", limited(resources=[resource]), patch) == {}
    assert found("TF-RES-3", limited(), roles={"worker": {"resources": {resource: 1}}}).keys() == {
        f"roles.worker.resources.{resource}"
    }
    assert found("TF-RES-3", limited(resources=[resource]), roles={"worker": {"resources": {resource: 1}}}) == {}


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "baidu.com/a800_80g_cgpu", "rdma/hca", "cpu", "hugepages-2Mi", "ephemeral-storage"]
)
def test_resources_that_are_offered_or_the_nodes_own(resource: str) -> None:
    assert by_role("TF-RES-3", limited(), asking({resource: 1})) == {}


@pytest.mark.parametrize(("request_of", "limit"), [(1, 32), (32, 1)])
def test_the_larger_of_request_and_limit_counts(request_of: int, limit: int) -> None:
    resources = {"requests": {"nvidia.com/gpu": request_of}, "limits": {"nvidia.com/gpu": limit}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    assert pod(spec).pod_request("nvidia.com/gpu") == 32
    assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {"accelerators.l40s"}
    resources = {"requests": {"cpu": 2}, "limits": {"cpu": 4}}
    assert pod({"containers": [{"resources": resources}]}).pod_request("cpu") == 2


def test_none_of_a_resource_is_no_request() -> None:
    assert by_role("TF-RES-3", limited(), asking({"amd.com/gpu": 0})) == {}
    assert by_role("TF-RES-3", environment(accelerators={}, rdma=None), asking({"rdma/hca": 1})) != {}


def test_devices_are_claimed_by_the_templates_of_the_environment() -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    container = {"name": "main", "resources": {"claims": [{"name": "gpu"}]}}
    told = "the environment dev does not allow this `resourceClaimTemplateName` (allowed: {})"
    for judge, patch in ((by_role, {"main": container}), (by_job, [container])):
        spec = {"spec": {"resourceClaims": claims, "containers": patch}}
        assert set(judge("TF-RES-3", limited(), spec).values()) == {told.format("none")}
        assert judge("TF-RES-3", limited(resource_claims=["one-gpu"]), spec) == {}
        assert set(judge("TF-RES-3", limited(resource_claims=["two"]), spec).values()) == {told.format("two")}
    existing = {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one-gpu"}]}}
    assert by_role("TF-RES-3", limited(resource_claims=["one-gpu"]), existing) != {}, "other jobs share it"
    assert by_role("TF-RES-3", limited(), {"spec": {"resourceClaims": []}}) == {}


def test_amounts_of_others_that_cannot_be_read() -> None:
    """Kubernetes reads 1e3 too. Such a patch of an experiment is refused by its schema."""
    for where, spec in {
        "spec.containers.0.resources.limits.nvidia.com/gpu": {
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1e3"}}}]
        },
        "spec.resources.requests.cpu": {"resources": {"requests": {"cpu": "1e3"}}},
    }.items():
        assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {where}
    assert raw("TF-RES-1", limited(), {}, pod({"resources": {"requests": {"cpu": "1k"}}})) == {}
    assert (
        by_role("TF-RES-1", limited(), asking({"cpu": "500m"}))
        == by_job("TF-RES-1", limited(), asking({"cpu": 1}))
        == {}
    )


@pytest.mark.parametrize("amount", [32, "32"])
def test_what_a_pod_asks_for_as_a_whole_counts(amount: Any) -> None:
    spec = {"containers": [], "resources": {"limits": {"nvidia.com/gpu": amount}}}
    assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {"accelerators.l40s"}
    spec = {"containers": [], "resources": {"limits": {"nvidia.com/gpu": 4}}}
    assert raw("TF-RES-1", limited(), {}, pod(spec)) == {}


def volume(name: str, **source: Any) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory", **source}}


HALF = "the shared memory is more than 0.5 of the node's memory (512Gi of 1Ti)"
NODES = {"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 8, "memory": "1Ti"}}
HALVED = environment(accelerators=NODES, limits={"shared_memory_share": 0.5})


def test_shared_memory_by_fields() -> None:
    assert found("TF-RES-4", HALVED, shared_memory="512Gi") == {}
    assert found("TF-RES-4", HALVED, shared_memory="513Gi") == {"shared_memory": HALF}
    roles = {"worker": {"replicas": 2, "shared_memory": "513Gi"}}
    assert found("TF-RES-4", HALVED, roles=roles) == {"roles.worker.shared_memory": HALF}
    assert found("TF-RES-4", limited(), roles=roles) == {}
    assert found("TF-RES-4", HALVED, shared_memory="unlimited") == {"shared_memory": HALF}
    assert found("TF-RES-4", limited(), shared_memory="unlimited") == {}


@pytest.mark.parametrize(
    ("volumes", "refused"),
    [
        ([volume("shm", sizeLimit="512Gi")], False),
        ([volume("shm", sizeLimit="256Gi"), volume("more", sizeLimit="256Gi")], False),
        ([volume("shm", sizeLimit="256Gi"), volume("more", sizeLimit="257Gi")], True),
        ([volume("shm")], True),
        ([volume("shm", sizeLimit="0")], True),
        ([volume("shm", sizeLimit=0)], True),
        ([{"name": "disk", "emptyDir": {}}], False),
        ([{"name": "disk", "emptyDir": {"sizeLimit": "2Ti"}}], False),
    ],
)
def test_shared_memory_of_several_volumes(volumes: list[dict[str, Any]], refused: bool) -> None:
    assert set(raw("TF-RES-4", HALVED, {}, pod({"volumes": volumes})).values()) == ({HALF} if refused else set())


def test_shared_memory_is_a_share_of_the_node_of_the_pods() -> None:
    kinds = {**NODES, "l40s": {"resource": "nvidia.com/gpu", "per_node": 4, "nodes": 4, "memory": "256Gi"}}
    two = environment(accelerators=kinds, limits={"shared_memory_share": 0.5})
    on = {"replicas": 1, "shared_memory": "200Gi"}
    assert found("TF-RES-4", two, roles={"worker": {**on, "accelerators": {"a800": 8}}}) == {}
    assert found("TF-RES-4", two, roles={"worker": {**on, "accelerators": {"l40s": 4}}}) != {}
    assert found("TF-RES-4", two, roles={"worker": on}) != {}, "the pod may land on the smallest node"


def test_requests() -> None:
    needed = limited(severity={"TF-RES-5": "error"})
    assert found("TF-RES-5", needed, roles={"worker": {"cpu": 1, "memory": "1Gi"}}) == {}
    assert set(found("TF-RES-5", needed, roles={"worker": {"cpu": 1}}).values()) == {
        "the container asks for no memory, which the environment dev requires"
    }
    assert found("TF-RES-5", limited(), roles={"worker": {}}) == {}, "off by default"
    right: dict[str, Any] = {"cpu": 1, "memory": "1Gi"}
    for judge in (by_role, by_job):
        assert judge("TF-RES-5", needed, asking({"cpu": 1})) != {}
    assert by_role("TF-RES-5", needed, asking(right, "requests"), **right) == {}
    assert raw("TF-RES-5", needed, {}, pod({"containers": [{}], "resources": {"limits": right}})) == {}
    assert raw("TF-RES-5", needed, {}, pod({"containers": [{}]})).keys() == {
        "spec.containers.0.resources.requests.cpu", "spec.containers.0.resources.requests.memory"
    }  # fmt: skip
