"""What a live cluster says of the objects of a preview, as plain data; `cluster` reads it, and the report uses it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class LiveJob:
    """A job object. phase: Pending, Running, Completed, Failed…, worked out from its pods and status. started: the time of its first running pod
    in RFC 3339, "" if none runs. pods: how many by phase."""

    name: str
    phase: str
    created: str
    started: str
    pods: Mapping[str, int]
    record: Mapping[str, Any] | None = None
    """The ConfigMap of what is deployed, as the cluster has it."""


@dataclasses.dataclass(frozen=True)
class LiveQueue:
    """A Volcano queue: what it may hold, and what is held. holders: the jobs (NAMESPACE/NAME) that hold something, with the resources of their pods."""

    name: str
    weight: int
    capability: Mapping[str, str]
    guarantee: Mapping[str, str]
    deserved: Mapping[str, str]
    holders: Mapping[str, Mapping[str, str]]
    reclaimable: bool = True


@dataclasses.dataclass(frozen=True)
class LiveNode:
    """A node that takes pods: its labels, taints, what it offers, and what its pods ask for."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Drift:
    """A field of a live object that differs from what was applied last. manager, written: who wrote it last, and when (RFC 3339)."""

    kind: str
    name: str
    path: str
    applied: object
    live: object
    manager: str
    written: str


@dataclasses.dataclass(frozen=True)
class LiveFacts:
    """read_at: RFC 3339. not_read: what could not be read, with the reason. A list that is None was not read; one that is empty was, and has none."""

    read_at: str
    jobs: tuple[LiveJob, ...] | None = None
    queues: tuple[LiveQueue, ...] | None = None
    nodes: tuple[LiveNode, ...] | None = None
    drift: tuple[Drift, ...] | None = None
    missing: tuple[str, ...] = ()
    """Objects that the state has and the cluster has not: Kind/NAME."""
    not_read: Mapping[str, str] = dataclasses.field(default_factory=dict)
