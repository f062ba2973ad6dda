"""Replaces the init container that brings kubectl by the relay to this rehearsal."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

from trainform.local.rehearsal.kubexec import client, relay
from trainform.local.rehearsal.workload import Workload, init_containers, short_name
from trainform.plan.model import Agent


def insert_relays(workload: Workload) -> Workload:
    """Return the workload with a relay, and a note, for each pod that gets kubectl from its operator."""
    agent = workload.agent
    if agent is None:
        return workload
    calling = [pod for pod in workload.pods if any(each["name"] == agent.delivery for each in init_containers(pod))]
    return dataclasses.replace(
        workload,
        pods=tuple(_add_relay(pod, agent) if pod in calling else pod for pod in workload.pods),
        notes=(*workload.notes, *(_relay_note(pod, agent) for pod in calling)),
    )


def _add_relay(pod: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """Return the pod with the relay, in the image of the pod's own program, which also runs the stand-in."""
    changed = copy.deepcopy(pod)
    program, stand_in = (Path(str(module.__file__)).read_text(encoding="utf-8") for module in (relay, client))
    for container in init_containers(changed):
        if container["name"] == agent.delivery:
            container.pop("args", None)
            container["image"] = changed["spec"]["containers"][0]["image"]
            container["command"] = ["python3", "-IS", "-c", program, agent.client, agent.hostfile, stand_in]
            container["stdin"] = True
    return changed


def _relay_note(pod: dict[str, Any], agent: Agent) -> str:
    return (
        f"{short_name(pod)}: `kubectl exec` reaches the pods of this rehearsal by a stand-in at {agent.client}, "
        f"which needs `python3` in the image; the pod starts when those in {agent.hostfile} run, for which nothing "
        "waits in the cluster"
    )
