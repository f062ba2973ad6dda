"""Accelerators and the fabric of an environment, from the nodes of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.scaffold.surveys import PRODUCT, READY, environment, node, read, survey
from trainform.local.scaffold.new_environment import environment_text


def test_one_kind_needs_no_label() -> None:
    nodes = [node({"nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "63"}) for _ in range(4)] + [node({})]
    found = environment(nodes=nodes)
    assert found.accelerators["gpu"].model_dump(exclude_defaults=True) == {
        "resource": "nvidia.com/gpu", "per_node": 8, "nodes": 4, "cpu": "95", "memory": "1007Gi",
    }  # fmt: skip
    assert found.rdma is not None
    assert (found.rdma.resource, found.rdma.count, found.rdma.per_node) == ("rdma/hca_shared_devices_a", 1, 63)


def test_products_tell_kinds_of_one_resource_apart() -> None:
    nodes = [
        node({"nvidia.com/gpu": "8"}, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}),
        node({"nvidia.com/gpu": "8"}, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}),
        node({"nvidia.com/gpu": "4"}, {PRODUCT: "Tesla-T4"}),
        node({"baidu.com/a800_80g_cgpu": "8", "baidu.com/a800_80g_cgpu_memory": "640"}),
    ]
    kinds = environment(nodes=nodes).accelerators
    assert {name: (kind.resource, kind.per_node, kind.nodes) for name, kind in kinds.items()} == {
        "a100-sxm4-80gb": ("nvidia.com/gpu", 8, 2),
        "t4": ("nvidia.com/gpu", 4, 1),
        "a800-80g-cgpu": ("baidu.com/a800_80g_cgpu", 8, 1),
    }
    assert kinds["a100-sxm4-80gb"].node_selector == {PRODUCT: "NVIDIA-A100-SXM4-80GB"}
    assert kinds["a800-80g-cgpu"].node_selector == {}


def kinds_of(
    nodes: list[dict[str, Any]],
) -> tuple[dict[str, tuple[int | None, int | None, dict[str, str], int]], list[str]]:
    """Return the accelerators of a node, nodes, labels and tolerations of each kind, and the notes."""
    text = environment_text("prod", survey(nodes=nodes))
    kinds = read(text).accelerators.items()
    return (
        {name: (kind.per_node, kind.nodes, kind.node_selector, len(kind.tolerations)) for name, kind in kinds},
        [line[2:] for line in text.splitlines() if "not counted" in line or "left out" in line],
    )


def plain(count: int, accelerators: str, *taints: dict[str, str]) -> list[dict[str, Any]]:
    return [node({"amd.com/gpu": accelerators}, None, [*taints])] * count


OWN = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("nodes", "left"), [([*plain(2, "8"), *plain(2, "4")], 2), ([*plain(3, "8", OWN), *plain(2, "8")], 3)]
)
def test_nodes_with_another_number_of_accelerators_or_other_taints_are_left_out(
    nodes: list[dict[str, Any]], left: int
) -> None:
    """A scheduler can serve the written number: a pod with all accelerators of a node finds so many nodes."""
    note = f"{left} nodes with amd.com/gpu are left out: they have another number of accelerators or other taints"
    assert kinds_of(nodes) == ({"gpu": (8, 2, {}, 0)}, [note])


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
SILENT = {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}]}


def test_unusable_nodes_are_not_counted() -> None:
    carrying = node({"amd.com/gpu": "8", "rdma/hca": "9"})
    cordoned = {**carrying, "spec": {"unschedulable": True}}
    nodes = [{**carrying, "status": {**carrying["status"], **state}} for state in (READY, NOT_READY, SILENT)]
    note = "3 nodes with accelerators are not counted: cordoned or not ready"
    assert kinds_of([*nodes, cordoned]) == ({"gpu": (8, 1, {}, 0)}, [note])
    assert kinds_of([cordoned]) == ({}, [note.replace("3 nodes", "1 node").replace(" are ", " is ")])


def test_the_taints_that_its_nodes_have_are_tolerated() -> None:
    passing = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    soft = {"key": "busy", "effect": "PreferNoSchedule"}
    bare = {"key": "team", "effect": "NoExecute"}
    nodes = [node({"nvidia.com/gpu": "8"}, None, [OWN, passing, soft, bare]),
        node({"nvidia.com/gpu": "8"}, None, [bare, OWN])]  # fmt: skip
    kind = environment(nodes=nodes).accelerators["gpu"]
    assert kind.nodes == 2
    assert [toleration.model_dump(exclude_defaults=True) for toleration in kind.tolerations] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]
