"""Nodes of a live cluster as an environment describes them: kinds of accelerators, and the fabric.

What comes from a cluster may be anything: only what is spelled as Kubernetes spells it is taken.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from trainform.catalog import defaults
from trainform.spec.names import EXTENDED, LABEL_MAX, LABEL_VALUE, QUALIFIED, SUBDOMAIN_MAX, matches
from trainform.spec.quantities import amount

# Where operators and clouds write which product a node carries; the first that a node has counts.
PRODUCT_LABELS = (
    f"{defaults.LABEL_PREFIX}accelerator",
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
)
_FABRIC = re.compile(r"rdma|hca|roce|infiniband|/ib|/efa$", re.IGNORECASE)
_ACCELERATOR = re.compile(r"gpu|mig-|tpu|npu|xpu|gaudi|ascend|mlu|dcu|neuron", re.IGNORECASE)
# Some plugins announce parts of a card beside the card itself.
_PART = re.compile(r"(mem|memory|cores?|percentage)$", re.IGNORECASE)
_VENDOR = re.compile(r"^(nvidia|amd|tesla|intel)-")
_OF_KUBERNETES = re.compile(r"^node\.(kubernetes\.io|cloudprovider\.kubernetes\.io)/")  # taints that come and go
_HARD = ("NoSchedule", "NoExecute")
MOST_PER_NODE = 10_000
LONGEST_KEY = SUBDOMAIN_MAX + 1 + LABEL_MAX  # a domain, a slash and a name
GI = 2**30


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of accelerator. total: on all its nodes together, which may have different numbers."""

    name: str
    fields: dict[str, Any]
    per_node: tuple[int, ...]

    @property
    def uneven(self) -> str:
        """How many its nodes have, where they differ."""
        least, most = min(self.per_node), max(self.per_node)
        return "" if least == most else f"{len(self.per_node)} nodes with {least} to {most}"


@dataclasses.dataclass(frozen=True)
class Hardware:
    """What the nodes carry. fabric: resource and number on a node. others: further extended resources."""

    kinds: tuple[Kind, ...]
    fabric: tuple[str, int] | None
    others: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Node:
    amounts: Mapping[str, int]
    cpu: Decimal | None
    memory: Decimal | None
    product: tuple[str, str] | None
    taints: tuple[tuple[str, str, str], ...]


def hardware(nodes: Iterable[Any]) -> Hardware:
    """What these objects of the API carry."""
    read = [_read(node) for node in nodes]
    offered: dict[str, int] = {}
    for node in read:
        for resource, count in node.amounts.items():
            offered[resource] = max(count, offered.get(resource, 0))
    fabrics = sorted(resource for resource in offered if _FABRIC.search(resource))
    accelerators = sorted(resource for resource in offered if _is_accelerator(resource))
    chosen = fabrics[0] if fabrics else None
    return Hardware(
        kinds=tuple(_kinds(read, accelerators)),
        fabric=None if chosen is None else (chosen, offered[chosen]),
        others=tuple(sorted(offered.keys() - {*accelerators, chosen})),
    )


def below(value: Any, *keys: str) -> Any:
    """What stands below the keys; None where something else does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def spelled(pattern: str, value: Any, most: int = SUBDOMAIN_MAX) -> bool:
    """Whether the value is a text as the pattern says."""
    return isinstance(value, str) and len(value) <= most and matches(pattern, value)


def label_of(text: str) -> str:
    """The text as a name that a person types: in lower case, with dashes."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return _VENDOR.sub("", words)[:LABEL_MAX].strip("-")


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where it is taken."""
    known, number, free = set(taken), 1, name
    while free in known:
        number += 1
        free = f"{name[: LABEL_MAX - 8]}-{number}"
    return free


def _is_accelerator(resource: str) -> bool:
    return bool(_ACCELERATOR.search(resource)) and not _FABRIC.search(resource) and not _PART.search(resource)


def _read(node: Any) -> _Node:
    allocatable = below(node, "status", "allocatable")
    listed = allocatable if isinstance(allocatable, dict) else {}
    counts = {name: _count(count) for name, count in listed.items() if spelled(EXTENDED, name, LONGEST_KEY)}
    labels = below(node, "metadata", "labels")
    products = ((label, below(labels, label)) for label in PRODUCT_LABELS)
    taints = below(node, "spec", "taints")
    return _Node(
        amounts={name: count for name, count in counts.items() if 0 < count <= MOST_PER_NODE},
        cpu=_amount(listed.get("cpu")),
        memory=_amount(listed.get("memory")),
        product=next(
            ((label, value) for label, value in products if value and spelled(LABEL_VALUE, value, LABEL_MAX)), None
        ),
        taints=tuple(_taints(taints if isinstance(taints, list) else [])),
    )


def _count(count: Any) -> int:
    return int(count) if isinstance(count, str) and re.fullmatch("[0-9]{1,6}", count) else 0


def _amount(quantity: Any) -> Decimal | None:
    try:
        return amount(quantity) if isinstance(quantity, str) else None
    except ValueError:
        return None


def _taints(taints: list[Any]) -> Iterator[tuple[str, str, str]]:
    for taint in taints:
        key, value, effect = (below(taint, field) for field in ("key", "value", "effect"))
        value = "" if value is None else value
        well_spelled = spelled(QUALIFIED, key, LONGEST_KEY) and spelled(LABEL_VALUE, value, LABEL_MAX)
        if well_spelled and effect in _HARD and not _OF_KUBERNETES.match(key):
            yield key, value, effect


def _kinds(nodes: Sequence[_Node], resources: Sequence[str]) -> Iterator[Kind]:
    """One for each product that offers a resource; where only one does, no label is needed to find its nodes."""
    groups: dict[tuple[str, tuple[str, str] | None], list[_Node]] = {}
    for resource in resources:
        for node in nodes:
            if resource in node.amounts:
                groups.setdefault((resource, node.product), []).append(node)
    names: list[str] = []
    for (resource, product), carrying in sorted(groups.items(), key=lambda group: (group[0][0], str(group[0][1]))):
        alone = sum(other == resource for other, _ in groups) == 1
        names.append(free_name(_name(resource, product, [key for key in groups if key[1] == product]), names))
        counts = tuple(node.amounts[resource] for node in carrying)
        most = max(counts)
        fields: dict[str, Any] = {"resource": resource, "per_node": most, "nodes": sum(counts) // most}
        fields |= _size(carrying)
        fields |= {} if alone or product is None else {"node_selector": dict([product])}
        fields |= _tolerations(carrying)
        yield Kind(names[-1], fields, counts)


def _name(resource: str, product: tuple[str, str] | None, of_product: Sequence[Any]) -> str:
    own = label_of(resource.rpartition("/")[2])
    if product is not None:
        named = label_of(product[1])
        own = named if len(of_product) == 1 else label_of(f"{named}-{own}")
    return own if own else "accelerator"


def _size(nodes: Sequence[_Node]) -> dict[str, Any]:
    """CPU cores and memory of the smallest of the nodes, rounded down."""
    cores = [int(node.cpu) for node in nodes if node.cpu is not None]
    memory = [int(node.memory) // GI for node in nodes if node.memory is not None]
    least_cores, least_memory = min(cores, default=0), min(memory, default=0)
    size: dict[str, Any] = {"cpu": least_cores} if least_cores else {}
    return {**size, "memory": f"{least_memory}Gi"} if least_memory else size


def _tolerations(nodes: Sequence[_Node]) -> dict[str, Any]:
    """The taints that all of the nodes have."""
    common = sorted(set.intersection(*(set(node.taints) for node in nodes)))
    tolerations = [
        {"key": key, **({"operator": "Exists"} if value == "" else {"value": value}), "effect": effect}
        for key, value, effect in common
    ]
    return {"tolerations": tolerations} if tolerations else {}
