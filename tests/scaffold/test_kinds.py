"""Accelerators and the fabric of an environment, from the nodes of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scaffold.surveys import PRODUCT, READY, environment, node, read, survey
from trainform.scaffold.environment import from_survey


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


def test_parts_of_a_card_beside_whole_ones() -> None:
    labels = {PRODUCT: "NVIDIA-A100"}
    kinds = environment(nodes=[node({"nvidia.com/gpu": "4", "nvidia.com/mig-1g.5gb": "28"}, labels)]).accelerators
    assert {name: kind.resource for name, kind in kinds.items()} == {
        "a100-gpu": "nvidia.com/gpu",
        "a100-mig-1g-5gb": "nvidia.com/mig-1g.5gb",
    }


def kinds_of(nodes: list[dict[str, Any]]) -> tuple[dict[str, tuple[int, int, dict[str, str], int]], list[str]]:
    """Of each kind: accelerators of a node, nodes, labels, tolerations; and the notes."""
    text = from_survey("prod", survey(nodes=nodes))
    kinds = read(text).accelerators.items()
    return (
        {name: (kind.per_node, kind.nodes, kind.node_selector, len(kind.tolerations)) for name, kind in kinds},
        [line[2:] for line in text.splitlines() if "not counted" in line or "left out" in line],
    )


def test_nodes_with_different_numbers() -> None:
    """Each number of nodes is one that a scheduler can serve: a pod with all accelerators of a node finds that many."""
    nodes = [node({"amd.com/gpu": count}) for count in ("8", "8", "4", "4")]
    assert kinds_of(nodes) == (
        {"gpu": (8, 2, {}, 0)},
        ["2 nodes with 4 amd.com/gpu are left out: no label distinguishes them"],
    )


def test_labels_tell_numbers_apart() -> None:
    large = {PRODUCT: "A100", "kubernetes.io/hostname": "a", "node.kubernetes.io/instance-type": "p4d.24xlarge"}
    small = {PRODUCT: "A100", "topology.kubernetes.io/zone": "b", "pool": "small", "kubernetes.io/hostname": "b"}
    nodes = [node({"nvidia.com/gpu": "8"}, large), *[node({"nvidia.com/gpu": "4"}, small)] * 2]
    found = {
        "a100": (8, 1, {"node.kubernetes.io/instance-type": "p4d.24xlarge"}, 0),
        "a100-small": (4, 2, {"pool": "small"}, 0),
    }
    assert kinds_of(nodes) == (found, [])
    beside = {name: (*kind[:2], {PRODUCT: "A100", **kind[2]}, 0) for name, kind in found.items()}
    nodes.append(node({"nvidia.com/gpu": "2"}, {PRODUCT: "T4"}))
    assert kinds_of(nodes) == ({**beside, "t4": (2, 1, {PRODUCT: "T4"}, 0)}, [])


@pytest.mark.parametrize("label", ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "alpha.eksctl.io/instance-id"])  # fmt: skip
def test_labels_of_single_nodes_and_places_are_none_of_a_kind(label: str) -> None:
    nodes = [node({"amd.com/gpu": "8"}), node({"amd.com/gpu": "4"}, {label: "a"})]
    assert kinds_of(nodes) == ({"gpu": (8, 1, {}, 0)}, ["1 node with 4 amd.com/gpu is left out: no label distinguishes them"])  # fmt: skip


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
SILENT = {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}]}


def test_unusable_nodes_are_not_counted() -> None:
    pool = {"pool": "a"}
    carrying = node({"amd.com/gpu": "8", "rdma/hca": "9"}, pool)
    cordoned = {**carrying, "spec": {"unschedulable": True}}
    nodes = [{**carrying, "status": {**carrying["status"], **state}} for state in (READY, NOT_READY, SILENT)]
    taints = [{"key": f"k{number}", "effect": "NoSchedule"} for number in range(21)]
    nodes += [cordoned, node({"amd.com/gpu": "16"}, pool, taints)]
    notes = ["4 nodes with accelerators are not counted: cordoned, not ready, or with more than 20 taints"]
    assert kinds_of(nodes) == ({"gpu": (8, 1, {}, 0)}, notes)
    # a label tells a kind apart whether or not all its nodes are there today
    assert kinds_of([*nodes[:4], node({"amd.com/gpu": "4"})])[0] == {"gpu": (8, 1, {"pool": "a"}, 0)}
    assert kinds_of([cordoned]) == ({}, [notes[0].replace("4 nodes", "1 node").replace(" are ", " is ")])


def test_a_taint_on_half_of_the_nodes() -> None:
    own = {"key": "dedicated", "value": "infer", "effect": "NoSchedule"}
    bare, tainted = [node({"amd.com/gpu": "8"})] * 2, [node({"amd.com/gpu": "8"}, None, [own])] * 3
    note = (
        "3 nodes with 8 amd.com/gpu and the taint dedicated=infer:NoSchedule are left out: no label distinguishes them"
    )
    assert kinds_of([*tainted, *bare]) == ({"gpu": (8, 2, {}, 0)}, [note])
    tainted = [node({"amd.com/gpu": "8"}, {"node-role.kubernetes.io/infer": ""}, [own])] * 3
    assert kinds_of([*tainted, *bare]) == (
        {"gpu": (8, 2, {}, 0), "gpu-infer": (8, 3, {"node-role.kubernetes.io/infer": ""}, 1)},
        [],
    )


def test_nodes_without_a_product_beside_others() -> None:
    """A kind without labels would be for the nodes of all the others too."""
    labelled = node({"nvidia.com/gpu": "8"}, {PRODUCT: "A100"})
    nodes = [labelled, *[node({"nvidia.com/gpu": "8"})] * 2]
    assert kinds_of(nodes) == (
        {"a100": (8, 1, {PRODUCT: "A100"}, 0)},
        ["2 nodes with 8 nvidia.com/gpu without a label of a product are left out: no label distinguishes them"],
    )
    nodes = [labelled, node({"nvidia.com/gpu": "8"}, {"pool": "old"})]
    assert kinds_of(nodes)[0] == {"a100": (8, 1, {PRODUCT: "A100"}, 0), "gpu": (8, 1, {"pool": "old"}, 0)}


def test_the_taints_that_its_nodes_have_are_tolerated() -> None:
    own = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    passing = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    soft = {"key": "busy", "effect": "PreferNoSchedule"}
    bare = {"key": "team", "effect": "NoExecute"}
    nodes = [node({"nvidia.com/gpu": "8"}, None, [own, passing, soft, bare]), node({"nvidia.com/gpu": "8"}, None, [bare, own])]  # fmt: skip
    kind = environment(nodes=nodes).accelerators["gpu"]
    assert kind.nodes == 2
    assert [toleration.model_dump(exclude_defaults=True) for toleration in kind.tolerations] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_other_resources_are_listed_in_a_comment() -> None:
    text = from_survey("prod", survey(nodes=[node({"smarter-devices/fuse": "20", "hugepages-2Mi": "0", "x.io/gpu": "0"})]))  # fmt: skip
    assert "# No accelerators were found on its nodes.\n" in text
    assert "# Further resources of its nodes: smarter-devices/fuse\n" in text
    assert read(text).accelerators == {}
