"""The input of a rehearsal: Pods as the API server holds them, and the objects to which they refer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainform import defaults
from trainform.plan.operator import Agent

RESTARTS = 3


@dataclasses.dataclass(frozen=True)
class Workload:
    """The Pods of one job.

    services: the Services with their own address (for headless ones the pods' `subdomain` is enough). ends_with:
    the names of the pods whose success completes the job; the other pods are stopped then. Where it is empty, every pod
    has to end by itself. restarts: how often the containers of one pod are started again where its `restartPolicy` is
    not Never. notes: what differs from the cluster; it is printed at the beginning. agent: how pods start processes in
    other pods, where they do not use SSH. lookup_containers: the operator's init containers that look names up with a
    program of their image.
    """

    experiment: str
    namespace: str
    pods: tuple[dict[str, Any], ...]
    config_maps: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, bytes]] = dataclasses.field(default_factory=dict, repr=False)
    services: tuple[dict[str, Any], ...] = ()
    ends_with: frozenset[str] = frozenset()
    restarts: int = RESTARTS
    notes: tuple[str, ...] = ()
    agent: Agent | None = None
    lookup_containers: frozenset[str] = frozenset()

    def pod(self, name: str) -> dict[str, Any]:
        """Return the pod with this name; StopIteration if there is none."""
        return next(pod for pod in self.pods if pod_name(pod) == name)


def pod_name(pod: dict[str, Any]) -> str:
    """Return the value of `metadata.name`."""
    return str(pod["metadata"]["name"])


def planned_name(pod: dict[str, Any]) -> str:
    """Return the name in the plan: the pod's hostname if it has one, since pods of a Job have a random suffix."""
    return str(pod["spec"].get("hostname", pod_name(pod)))


def short_name(pod: dict[str, Any]) -> str:
    """Return `worker-0` of `sdxl-lora-1f3a9c-worker-0`; the whole name where the pod has no role or no index."""
    labels = labels_of(pod)
    role = labels.get(defaults.ROLE_LABEL)
    index = labels.get(defaults.REPLICA_LABEL, planned_name(pod).rpartition("-")[2])
    return f"{role}-{index}" if role is not None and index.isdigit() else pod_name(pod)


def labels_of(pod: dict[str, Any]) -> dict[str, str]:
    """Return the value of `metadata.labels`, an empty mapping where the pod has none."""
    return dict(pod["metadata"].get("labels", {}))


def init_containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the init containers, which run first and one after the other."""
    return list(pod["spec"].get("initContainers", []))


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all containers of the pod: the init containers, then the others."""
    return [*init_containers(pod), *pod["spec"]["containers"]]


def selects(service: dict[str, Any], pod: dict[str, Any]) -> bool:
    """Return True if the Service's selector selects the pod."""
    selector = service["spec"].get("selector", {})
    return bool(selector) and selector.items() <= labels_of(pod).items()


def service_is_headless(service: dict[str, Any]) -> bool:
    """Return True if the Service has no address and only publishes names of pods."""
    return bool(service["spec"].get("clusterIP") == "None")
