"""Nodes of a live cluster: what of them matters to an environment.

What comes from a cluster may be anything: only what is spelled as Kubernetes spells it is taken.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
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
_VENDOR = re.compile(r"^(nvidia|amd|tesla|intel)-")
_OF_KUBERNETES = re.compile(r"^node\.(kubernetes\.io|cloudprovider\.kubernetes\.io)/")  # taints that come and go
_HARD = ("NoSchedule", "NoExecute")
MOST_PER_NODE = 10_000
LONGEST_KEY = SUBDOMAIN_MAX + 1 + LABEL_MAX  # a domain, a slash and a name
MOST_TAINTS = 20


@dataclasses.dataclass(frozen=True)
class Node:
    """What one node carries. product: the label that names it. usable: whether pods can come to it."""

    amounts: Mapping[str, int]
    cpu: Decimal | None
    memory: Decimal | None
    labels: Mapping[str, str]
    product: tuple[str, str] | None
    taints: tuple[tuple[str, str, str], ...]
    usable: bool


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


def read_node(node: Any) -> Node:
    """What this object of the API carries."""
    allocatable = below(node, "status", "allocatable")
    listed = allocatable if isinstance(allocatable, dict) else {}
    counts = {name: _count(count) for name, count in listed.items() if spelled(EXTENDED, name, LONGEST_KEY)}
    labels = _labels(below(node, "metadata", "labels"))
    found = below(node, "spec", "taints")
    taints = tuple(sorted(set(_taints(found if isinstance(found, list) else []))))
    return Node(
        amounts={name: count for name, count in counts.items() if 0 < count <= MOST_PER_NODE},
        cpu=_amount(listed.get("cpu")),
        memory=_amount(listed.get("memory")),
        labels=labels,
        product=next(((label, labels[label]) for label in PRODUCT_LABELS if labels.get(label)), None),
        taints=taints,
        usable=_ready(node) and below(node, "spec", "unschedulable") is not True and len(taints) <= MOST_TAINTS,
    )


def _ready(node: Any) -> bool:
    """False where the node says that it is not, or is silent; one without the condition has just been made."""
    conditions = below(node, "status", "conditions")
    states = [
        below(condition, "status")
        for condition in (conditions if isinstance(conditions, list) else [])
        if below(condition, "type") == "Ready"
    ]
    return all(state == "True" for state in states)


def _labels(labels: Any) -> dict[str, str]:
    return {
        key: value
        for key, value in (labels if isinstance(labels, dict) else {}).items()
        if spelled(QUALIFIED, key, LONGEST_KEY) and spelled(LABEL_VALUE, value, LABEL_MAX)
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
        key, value, effect = (below(taint, field) for field in ("key", "value", "effect"))
        value = "" if value is None else value
        well_spelled = spelled(QUALIFIED, key, LONGEST_KEY) and spelled(LABEL_VALUE, value, LABEL_MAX)
        if well_spelled and effect in _HARD and not _OF_KUBERNETES.match(key):
            yield key, value, effect
