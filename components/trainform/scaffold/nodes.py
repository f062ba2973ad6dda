"""Nodes of a live cluster, reduced to the data for an environment.

Data from a cluster is not trusted: only names and values that are valid in Kubernetes are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.spec.names import EXTENDED, LABEL_MAX, LABEL_VALUE, QUALIFIED, SUBDOMAIN_MAX, matches
from trainform.spec.quantities import amount

# Labels in which operators and clouds write the product of a node; the first that a node has is used.
PRODUCT_LABELS = (
    f"{defaults.LABEL_PREFIX}accelerator",
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
)
_VENDOR = re.compile(r"^(nvidia|amd|tesla|intel)-")
_OF_KUBERNETES = re.compile(r"^node\.(kubernetes\.io|cloudprovider\.kubernetes\.io)/")  # temporary taints
_HARD = ("NoSchedule", "NoExecute")
MOST_PER_NODE = 10_000
MAX_KEY = SUBDOMAIN_MAX + 1 + LABEL_MAX  # a domain, a slash and a name
MOST_TAINTS = 20


class Node(Struct, frozen=True):
    """The data of one node. `product`: the label that names its product. `usable`: pods can be placed on it."""

    amounts: Mapping[str, int]
    cpu: Decimal | None
    memory: Decimal | None
    labels: Mapping[str, str]
    product: tuple[str, str] | None
    taints: tuple[tuple[str, str, str], ...]
    usable: bool


def value_at(value: Any, *keys: str) -> Any:
    """Return the value at nested keys, None if it does not exist."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_valid(pattern: str, value: Any, most: int = SUBDOMAIN_MAX) -> bool:
    """True if the value is a text that matches the pattern and is not too long."""
    return isinstance(value, str) and len(value) <= most and matches(pattern, value)


def as_label(text: str) -> str:
    """Return the text as a name that is easy to type: lower case, with dashes."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return _VENDOR.sub("", words)[:LABEL_MAX].strip("-")


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number if it is taken."""
    known, number, free = set(taken), 1, name
    while free in known:
        number += 1
        free = f"{name[: LABEL_MAX - 8]}-{number}"
    return free


def read_node(node: Any) -> Node:
    """Return the data of a Node object."""
    allocatable = value_at(node, "status", "allocatable")
    listed = allocatable if isinstance(allocatable, dict) else {}
    counts = {name: _count(count) for name, count in listed.items() if is_valid(EXTENDED, name, MAX_KEY)}
    labels = _labels(value_at(node, "metadata", "labels"))
    found = value_at(node, "spec", "taints")
    taints = tuple(sorted(set(_taints(found if isinstance(found, list) else []))))
    return Node(
        amounts={name: count for name, count in counts.items() if 0 < count <= MOST_PER_NODE},
        cpu=_amount(listed.get("cpu")),
        memory=_amount(listed.get("memory")),
        labels=labels,
        product=next(((label, labels[label]) for label in PRODUCT_LABELS if labels.get(label)), None),
        taints=taints,
        usable=_ready(node) and value_at(node, "spec", "unschedulable") is not True and len(taints) <= MOST_TAINTS,
    )


def _ready(node: Any) -> bool:
    """False if the node's condition is not ready; True without a condition, since the node is new."""
    conditions = value_at(node, "status", "conditions")
    states = [
        value_at(condition, "status")
        for condition in (conditions if isinstance(conditions, list) else [])
        if value_at(condition, "type") == "Ready"
    ]
    return all(state == "True" for state in states)


def _labels(labels: Any) -> dict[str, str]:
    return {
        key: value
        for key, value in (labels if isinstance(labels, dict) else {}).items()
        if is_valid(QUALIFIED, key, MAX_KEY) and is_valid(LABEL_VALUE, value, LABEL_MAX)
    }


def _count(count: Any) -> int:
    return int(count) if isinstance(count, str) and re.fullmatch("[0-9]{1,6}", count) else 0


def _amount(quantity: Any) -> Decimal | None:
    try:
        return amount(quantity) if isinstance(quantity, str) else None
    except ValueError:
        return None


def _taints(taints: list[Any]) -> Iterator[tuple[str, str, str]]:
    for taint in taints:
        key, value, effect = (value_at(taint, field) for field in ("key", "value", "effect"))
        value = "" if value is None else value
        valid = is_valid(QUALIFIED, key, MAX_KEY) and is_valid(LABEL_VALUE, value, LABEL_MAX)
        if valid and effect in _HARD and not _OF_KUBERNETES.match(key):
            yield key, value, effect
