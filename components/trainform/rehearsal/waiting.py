"""In a stage whose images are all replaced: operators' own init containers ask for names with what every image has."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from trainform.backends.kubeflow_pods import WAITING
from trainform.rehearsal.stage import Stage, init_containers, short_name

ASKS, EVERYWHERE = "nslookup", "getent hosts"


def with_getent(stage: Stage) -> Stage:
    """The stage; where training-operator's init container waits for a name, by `getent`. Its notes say so."""
    waiting = [pod for pod in stage.pods if any(each["name"] == WAITING for each in init_containers(pod))]
    notes = [f"{short_name(pod)}: {WAITING} waits with `{EVERYWHERE}` in the place of `{ASKS}`" for pod in waiting]
    pods = tuple(_asking(pod) if pod in waiting else pod for pod in stage.pods)
    return dataclasses.replace(stage, pods=pods, notes=(*stage.notes, *notes))


def _asking(pod: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(pod)
    for container in init_containers(changed):
        if container["name"] == WAITING:
            container["command"] = [word.replace(ASKS, EVERYWHERE) for word in container["command"]]
    return changed
