"""What is rehearsed: Pods as the API server holds them, and the objects that they name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainform.catalog import defaults
from trainform.plan.model import Agent

RESTARTS = 3


@dataclasses.dataclass(frozen=True)
class Stage:
    """The Pods of one job.

    services: Services with an address of their own (headless ones need no more than the pods' `subdomain`). ends_with: names of pods;
    when all of them have ended with exit code 0 the job is complete and the others are stopped. Empty: every pod must end by itself.
    restarts: how often the containers of one pod are started again where its `restartPolicy` is not Never. notes: what differs
    from the cluster and is told at the beginning. agent: how pods start processes on other pods where that is not by SSH.
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

    def pod(self, name: str) -> dict[str, Any]:
        """The pod of this name."""
        return next(pod for pod in self.pods if pod_name(pod) == name)


def pod_name(pod: dict[str, Any]) -> str:
    """`metadata.name`."""
    return str(pod["metadata"]["name"])


def planned_name(pod: dict[str, Any]) -> str:
    """The name in the plan: the pod's hostname where it has one, since pods of a Kubernetes Job have a random end to their names."""
    return str(pod["spec"].get("hostname", pod_name(pod)))


def short_name(pod: dict[str, Any]) -> str:
    """`worker-0` of `sdxl-lora-1f3a9c-worker-0`; the whole name where the pod has no role or no index."""
    labels = labels_of(pod)
    role = labels.get(defaults.ROLE_LABEL)
    index = labels.get(defaults.REPLICA_LABEL, planned_name(pod).rpartition("-")[2])
    return f"{role}-{index}" if role is not None and index.isdigit() else pod_name(pod)


def labels_of(pod: dict[str, Any]) -> dict[str, str]:
    """`metadata.labels`; none are an empty mapping."""
    return dict(pod["metadata"].get("labels", {}))


def init_containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that run first, one after the other."""
    return list(pod["spec"].get("initContainers", []))


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Init containers and the others."""
    return [*init_containers(pod), *pod["spec"]["containers"]]


def selects(service: dict[str, Any], pod: dict[str, Any]) -> bool:
    """Whether the pod is behind the Service."""
    selector = service["spec"].get("selector", {})
    return bool(selector) and selector.items() <= labels_of(pod).items()


def service_is_headless(service: dict[str, Any]) -> bool:
    """Whether the Service is no more than names."""
    return bool(service["spec"].get("clusterIP") == "None")
