"""Kinds of accelerators on a live cluster's nodes, and their RDMA fabric. The API server validated all names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.spec.names import LABEL_MAX
from trainform.spec.quantities import amount

_FABRIC = re.compile(r"rdma|hca|roce|infiniband|/ib|/efa$", re.IGNORECASE)
_ACCELERATOR = re.compile(r"gpu|mig-|tpu|npu|xpu|gaudi|ascend|mlu|dcu|neuron", re.IGNORECASE)
# Some device plugins report parts of a card in addition to the card.
_PART = re.compile(r"(mem|memory|cores?|percentage)$", re.IGNORECASE)
# Labels in which operators and clouds write the product of a node; the first that a node has is used.
PRODUCT_LABELS = (
    f"{defaults.LABEL_PREFIX}accelerator",
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
)
_VENDOR = re.compile(r"^(nvidia|amd|tesla|intel)-")
_KUBERNETES_TAINT = re.compile(r"^node\.(kubernetes\.io|cloudprovider\.kubernetes\.io)/")  # temporary taints
_HARD = ("NoSchedule", "NoExecute")
GI = 2**30

Taint = tuple[str, str, str]
Product = tuple[str, str] | None


class Hardware(Struct, frozen=True):
    """The hardware of the nodes. `kinds`: fields by name. `fabric`: resource and number. `others`: other resources."""

    kinds: Mapping[str, dict[str, Any]]
    fabric: tuple[str, int] | None
    others: tuple[str, ...]
    notes: tuple[str, ...]


class Node(Struct, frozen=True):
    """A node on which pods can be placed. `amounts`: its extended resources. `product`: label and value."""

    amounts: Mapping[str, int]
    cpu: Decimal
    memory: Decimal
    product: Product
    taints: tuple[Taint, ...]


def value_at(value: Any, *keys: str) -> Any:
    """Return the value at nested keys, None if it does not exist."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def as_label(text: str) -> str:
    """Return the text as a name that is easy to type: lower case, with dashes."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return _VENDOR.sub("", words)[:LABEL_MAX].strip("-")


def hardware(objects: Iterable[Any]) -> Hardware:
    """Return the hardware of these Node objects."""
    listed = list(objects)
    nodes = [_read(node) for node in listed if _is_usable(node)]
    offered: dict[str, int] = {}
    for node in nodes:
        for resource, count in node.amounts.items():
            offered[resource] = min(count, offered.get(resource, count))
    fabric = next((resource for resource in sorted(offered) if _FABRIC.search(resource)), None)
    accelerators = [resource for resource in sorted(offered) if _is_accelerator(resource)]
    kinds: dict[str, dict[str, Any]] = {}
    notes = [*_uncounted(listed), *_add_kinds(kinds, nodes, accelerators)]
    others = tuple(sorted(offered.keys() - {*accelerators, fabric}))
    return Hardware(kinds, None if fabric is None else (fabric, offered[fabric]), others, tuple(notes))


def _is_accelerator(resource: str) -> bool:
    return bool(_ACCELERATOR.search(resource)) and not _FABRIC.search(resource) and not _PART.search(resource)


def _is_usable(node: Any) -> bool:
    """Return True if pods can be placed on the node. A new node has no condition yet."""
    conditions = value_at(node, "status", "conditions") or ()
    ready = all(condition.get("status") == "True" for condition in conditions if condition.get("type") == "Ready")
    return ready and value_at(node, "spec", "unschedulable") is not True


def _uncounted(nodes: Sequence[Any]) -> Iterator[str]:
    count = sum(any(map(_is_accelerator, _amounts(node))) for node in nodes if not _is_usable(node))
    if count:
        yield f"{_nodes(count, ' with accelerators')} not counted: cordoned or not ready"


def _amounts(node: Any) -> dict[str, int]:
    """Return the extended resources of a node. Their names have a domain, those of Kubernetes have none."""
    allocatable = value_at(node, "status", "allocatable") or {}
    counts = {name: int(count) for name, count in allocatable.items() if "/" in name and str(count).isdecimal()}
    return {name: count for name, count in counts.items() if count}


def _read(node: Any) -> Node:
    allocatable = value_at(node, "status", "allocatable") or {}
    labels = value_at(node, "metadata", "labels") or {}
    taints = {
        (taint["key"], taint.get("value", ""), taint["effect"])
        for taint in value_at(node, "spec", "taints") or ()
        if taint["effect"] in _HARD and not _KUBERNETES_TAINT.match(taint["key"])
    }
    return Node(
        amounts=_amounts(node),
        cpu=amount(allocatable.get("cpu", "0")),
        memory=amount(allocatable.get("memory", "0")),
        product=next(((label, labels[label]) for label in PRODUCT_LABELS if labels.get(label)), None),
        taints=tuple(sorted(taints)),
    )


def _add_kinds(kinds: dict[str, dict[str, Any]], nodes: Sequence[Node], resources: Sequence[str]) -> Iterator[str]:
    """Add a kind for each resource and product, and yield notes about nodes that are left out.

    Its nodes have the same number of accelerators and the same taints: the most accelerators, the fewest taints.
    """
    for resource in resources:
        products = sorted({node.product for node in nodes if resource in node.amounts}, key=str)
        for product in products:
            members = [node for node in nodes if resource in node.amounts and node.product == product]
            best = min(members, key=lambda node: (-node.amounts[resource], len(node.taints), node.taints))
            alike = (best.amounts[resource], best.taints)
            equal = [node for node in members if (node.amounts[resource], node.taints) == alike]
            what = f"{resource}{'' if product is None else f' of {product[1]}'}"
            if product is None and len(products) > 1:
                yield f"{_nodes(len(members), f' with {what}')} left out: no label of a product distinguishes them"
                continue
            if len(equal) < len(members):
                left = _nodes(len(members) - len(equal), f" with {what}")
                yield f"{left} left out: they have another number of accelerators or other taints"
            kinds[_name(resource, product, kinds)] = _fields(resource, equal, product if len(products) > 1 else None)


def _name(resource: str, product: Product, taken: Mapping[str, object]) -> str:
    """Return the product or the resource as a name, or both if another kind has the name."""
    own = as_label(resource.rpartition("/")[2])
    name = own if product is None else as_label(product[1])
    return name if name not in taken else unused_name(as_label(f"{name}-{own}"), taken)


def unused_name(name: str, taken: Mapping[str, object]) -> str:
    """Return the name, with a number if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name[: LABEL_MAX - 8]}-{number}"
    return free


def _fields(resource: str, nodes: Sequence[Node], product: Product) -> dict[str, Any]:
    """Return the fields of a kind, with the smallest CPU and memory of its nodes, rounded down."""
    fields: dict[str, Any] = {"resource": resource, "per_node": nodes[0].amounts[resource], "nodes": len(nodes)}
    cores, memory = min(int(node.cpu) for node in nodes), min(int(node.memory) // GI for node in nodes)
    fields |= {"cpu": cores} if cores else {}
    fields |= {"memory": f"{memory}Gi"} if memory else {}
    fields |= {"node_selector": dict([product])} if product is not None else {}
    tolerations = [
        {"key": key, **({"operator": "Exists"} if value == "" else {"value": value}), "effect": effect}
        for key, value, effect in nodes[0].taints
    ]
    return {**fields, **({"tolerations": tolerations} if tolerations else {})}


def _nodes(count: int, what: str) -> str:
    return f"1 node{what} is" if count == 1 else f"{count} nodes{what} are"
