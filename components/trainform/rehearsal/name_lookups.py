"""Init containers of operators that look up a name in DNS: how they do so in an image that lacks their program."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Set
from typing import Any

from trainform.rehearsal.workload import Workload, init_containers, short_name

NSLOOKUP, GETENT = "nslookup", "getent hosts"


def with_getent(workload: Workload) -> Workload:
    """The workload with `getent hosts` in the place of `nslookup` in the operator's init containers, and a note for each
    of them.

    It is for workloads in which one image replaces all others: that image may have no nslookup, while every image has
    getent."""
    notes = [
        f"{short_name(pod)}: {container['name']} waits with `{GETENT}` in the place of `{NSLOOKUP}`"
        for pod in workload.pods
        for container in init_containers(pod)
        if container["name"] in workload.lookup_containers
    ]
    pods = tuple(_with_getent(pod, workload.lookup_containers) for pod in workload.pods) if notes else workload.pods
    return dataclasses.replace(workload, pods=pods, notes=(*workload.notes, *notes))


def _with_getent(pod: dict[str, Any], names: Set[str]) -> dict[str, Any]:
    changed = copy.deepcopy(pod)
    for container in init_containers(changed):
        if container["name"] in names:
            container["command"] = [word.replace(NSLOOKUP, GETENT) for word in container["command"]]
    return changed
