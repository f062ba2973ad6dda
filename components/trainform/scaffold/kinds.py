"""Kinds of accelerators on the nodes of a live cluster, and their RDMA fabric.

The nodes of a kind have the same product, number of accelerators and taints. Nodes that no label distinguishes from others are left out,
with a note, since a scheduler could not select them.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.scaffold.nodes import MOST_TAINTS, Node, as_label, read_node, unused_name

_FABRIC = re.compile(r"rdma|hca|roce|infiniband|/ib|/efa$", re.IGNORECASE)
_ACCELERATOR = re.compile(r"gpu|mig-|tpu|npu|xpu|gaudi|ascend|mlu|dcu|neuron", re.IGNORECASE)
# Some device plugins report parts of a card in addition to the card.
_PART = re.compile(r"(mem|memory|cores?|percentage)$", re.IGNORECASE)
# Labels of groups of nodes. The first one that distinguishes a kind is used, else any label that is not of a location or a single node.
POOL_LABELS = (
    "nvidia.com/gpu.count",
    "node.kubernetes.io/instance-type",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
)
_NO_POOL = re.compile(
    r"(?!node-role\.)([^/]*\.)?(kubernetes|k8s)\.io/|topology\.|.*(hostname|instance-?id)", re.IGNORECASE
)
MOST_KINDS = 50
MOST_RESOURCES = 50
GI = 2**30

Product = tuple[str, str] | None
Label = tuple[str, str]


class Kind(Struct, frozen=True):
    """One kind of accelerator in the environment's file."""

    name: str
    fields: dict[str, Any]


class Hardware(Struct, frozen=True):
    """The hardware of the nodes. `fabric`: resource and number per node. `others`: other extended resources. `notes`: what is left out."""

    kinds: tuple[Kind, ...]
    fabric: tuple[str, int] | None
    others: tuple[str, ...]
    notes: tuple[str, ...]


class _Group(Struct, frozen=True, dict=True):
    """Nodes of one resource and product. `alone`: no other product has the resource. `among`: how many nodes have each label, counted in the
    group, or over all nodes with the resource if the group has no product label."""

    resource: str
    product: Product
    nodes: Sequence[Node]
    alone: bool
    among: Counter[Label]

    @property
    def selector(self) -> dict[str, str] | None:
        """The label that selects the group, None if there is none."""
        if self.alone:
            return {}
        return None if self.product is None else dict([self.product])

    @functools.cached_property
    def uniform_groups(self) -> list[list[Node]]:
        """Nodes by equal number and taints: the largest number first, then the fewest taints. Each has a usable node."""
        found: dict[tuple[int, int, tuple[tuple[str, str, str], ...]], list[Node]] = {}
        for node in self.nodes:
            found.setdefault((-node.amounts[self.resource], len(node.taints), node.taints), []).append(node)
        return [found[key] for key in sorted(found) if any(node.usable for node in found[key])]


def hardware(objects: Iterable[Any]) -> Hardware:
    """Return the hardware of these Node objects."""
    nodes = [read_node(node) for node in objects]
    offered: dict[str, int] = {}
    for node in nodes:
        for resource, count in node.amounts.items() if node.usable else ():
            offered[resource] = min(count, offered.get(resource, count))
    fabrics = sorted(resource for resource in offered if _FABRIC.search(resource))
    accelerators = sorted(resource for resource in offered if _is_accelerator(resource))
    chosen = fabrics[0] if fabrics else None
    kinds, notes = _kinds(nodes, accelerators[:MOST_RESOURCES])
    return Hardware(
        kinds=tuple(kinds),
        fabric=None if chosen is None else (chosen, offered[chosen]),
        others=tuple(sorted(offered.keys() - {*accelerators[:MOST_RESOURCES], chosen})),
        notes=(*_uncounted(nodes), *notes),
    )


def _is_accelerator(resource: str) -> bool:
    return bool(_ACCELERATOR.search(resource)) and not _FABRIC.search(resource) and not _PART.search(resource)


def _uncounted(nodes: Sequence[Node]) -> Iterator[str]:
    count = sum(not node.usable and any(map(_is_accelerator, node.amounts)) for node in nodes)
    if count:
        reasons = f"cordoned, not ready, or with more than {MOST_TAINTS} taints"
        yield f"{_nodes(count, ' with accelerators')} not counted: {reasons}"


def _kinds(nodes: Sequence[Node], resources: Sequence[str]) -> tuple[list[Kind], list[str]]:
    """Return at most `MOST_KINDS` kinds, and notes about what is left out."""
    kinds: dict[str, Kind] = {}
    notes: list[str] = []
    groups = _groups(nodes, resources)
    of_product = Counter(group.product for group in groups)
    for group in groups:
        name = _name(group, of_product[group.product])
        for number, members in enumerate(group.uniform_groups):
            selector, label_value = _selector(group, members)
            if selector is None and (number > 0 or group.selector is None):
                notes.append(f"{_description(group, members)} left out: no label distinguishes them")
            elif len(kinds) < MOST_KINDS:
                own = unused_name(name if number == 0 else as_label(f"{name}-{label_value}"), kinds)
                kinds[own] = Kind(own, _fields(group, members, group.selector if selector is None else selector))
            else:
                notes.append(f"{_description(group, members)} left out: {MOST_KINDS} kinds are written")
    return list(kinds.values()), notes


def _groups(nodes: Sequence[Node], resources: Sequence[str]) -> list[_Group]:
    found: dict[tuple[str, Product], list[Node]] = {}
    for resource in resources:
        for node in nodes:
            if resource in node.amounts:
                found.setdefault((resource, node.product), []).append(node)
    products = Counter(resource for resource, _ in found)
    groups = []
    for (resource, product), members in sorted(found.items(), key=lambda group: (group[0][0], str(group[0][1]))):
        alone = products[resource] == 1
        compared = members if product is not None or alone else nodes
        among = Counter(label for node in compared if resource in node.amounts for label in node.labels.items())
        groups.append(_Group(resource, product, members, alone, among))
    return groups


def _selector(group: _Group, members: Sequence[Node]) -> tuple[dict[str, str] | None, str]:
    """Return labels that only these nodes have, and a name for them; None if there are no such labels."""
    base = group.selector
    if base is not None and len(group.uniform_groups) == 1:
        return base, ""
    shared = set.intersection(*(set(node.labels.items()) for node in members))
    exact = [label for label in shared if group.among[label] == len(members)]
    pools = [(label, value) for label, value in exact if label in POOL_LABELS or not _NO_POOL.match(label)]
    if not pools:
        return None, ""
    label, value = min(pools, key=lambda pool: (_label_priority(pool[0]), pool))
    return {**({} if base is None else base), label: value}, value if value else label.rpartition("/")[2]


def _label_priority(label: str) -> int:
    return POOL_LABELS.index(label) if label in POOL_LABELS else len(POOL_LABELS)


def _fields(group: _Group, members: Sequence[Node], selector: Mapping[str, str] | None) -> dict[str, Any]:
    usable = [node for node in members if node.usable]
    fields: dict[str, Any] = {
        "resource": group.resource,
        "per_node": usable[0].amounts[group.resource],
        "nodes": len(usable),
    }
    fields |= _size(usable)
    fields |= {"node_selector": dict(selector)} if selector else {}
    return {**fields, **_tolerations(usable[0])}


def _description(group: _Group, members: Sequence[Node]) -> str:
    usable = [node for node in members if node.usable]
    without = "" if group.alone else " without a label of a product"
    product = without if group.product is None else f" of {group.product[1]}"
    taints = [f"{key}={value}:{effect}" if value else f"{key}:{effect}" for key, value, effect in usable[0].taints]
    tainted = f" and {len(taints)} taints" if len(taints) > 1 else f" and the taint {taints[0]}" if taints else ""
    return _nodes(len(usable), f" with {usable[0].amounts[group.resource]} {group.resource}{product}{tainted}")


def _nodes(count: int, what: str = "") -> str:
    return f"1 node{what} is" if count == 1 else f"{count} nodes{what} are"


def _name(group: _Group, of_product: int) -> str:
    own = as_label(group.resource.rpartition("/")[2])
    if group.product is not None:
        named = as_label(group.product[1])
        own = named if of_product == 1 else as_label(f"{named}-{own}")
    return own if own else "accelerator"


def _size(nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the smallest CPU and memory of the nodes, rounded down."""
    cores = [int(node.cpu) for node in nodes if node.cpu is not None]
    memory = [int(node.memory) // GI for node in nodes if node.memory is not None]
    least_cores, least_memory = min(cores, default=0), min(memory, default=0)
    size: dict[str, Any] = {"cpu": least_cores} if least_cores else {}
    return {**size, "memory": f"{least_memory}Gi"} if least_memory else size


def _tolerations(node: Node) -> dict[str, Any]:
    """Return tolerations for a node's taints, which all nodes of a kind have."""
    tolerations = [
        {"key": key, **({"operator": "Exists"} if value == "" else {"value": value}), "effect": effect}
        for key, value, effect in node.taints
    ]
    return {"tolerations": tolerations} if tolerations else {}
