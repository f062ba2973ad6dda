"""Services with their own address: a container for each Service forwards connections to the pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.errors import InputError, Problem
from trainform.local.rehearsal.docker import forward
from trainform.local.rehearsal.kubelet.placement import own_alias, service_names
from trainform.local.rehearsal.workload import Workload, pod_name, selects, service_is_headless


class Forwarder(Struct, frozen=True):
    """The names and routes of a Service, and one of its pods, in whose image the forwarder runs."""

    service: str
    aliases: tuple[str, ...]
    routes: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
    pod: str

    def command(self) -> list[str]:
        """Return the command of its container."""
        return ["python3", "-c", Path(forward.__file__).read_text(encoding="utf-8"), json.dumps(self.routes)]


def forwarders(workload: Workload) -> list[Forwarder]:
    """Return a forwarder for each Service with an address and a pod. InputError with each port it cannot forward."""
    found, problems = [], []
    for service in workload.services:
        selected = [pod for pod in workload.pods if selects(service, pod)]
        if service_is_headless(service) or not selected:
            continue
        name = service["metadata"]["name"]
        routes = []
        for index, port in enumerate(service["spec"].get("ports", [])):
            targets = tuple(_targets(port, selected))
            if port.get("protocol", "TCP") != "TCP" or not targets:
                reason = "leads to no TCP port of a pod, and a rehearsal forwards only TCP"
                fix = "give `targetPort` a number, or the name of a port of the pods"
                problems.append(Problem(f"services.{name}.ports[{index}]", port.get("targetPort"), reason, fix))
            routes.append((port["port"], targets))
        aliases = (name, *service_names(name, workload.namespace))
        found.append(Forwarder(name, aliases, tuple(routes), pod_name(selected[0])))
    if problems:
        raise InputError(problems)
    return found


def _targets(port: dict[str, Any], pods: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield the name and port of each pod behind a port of the Service. A named target port is looked up in the pod."""
    target = port.get("targetPort", port["port"])
    for pod in pods:
        declared = [declared for container in pod["spec"]["containers"] for declared in container.get("ports", [])]
        named = {entry["name"]: entry["containerPort"] for entry in declared if "name" in entry}
        number = target if isinstance(target, int) else named.get(target)
        if number is not None:
            yield own_alias(pod_name(pod)), number
