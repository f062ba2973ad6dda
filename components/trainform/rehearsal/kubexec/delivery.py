"""In a stage, the init container that brings kubectl becomes the relay."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

from trainform.plan.model import Agent
from trainform.rehearsal.kubexec import client, relay
from trainform.rehearsal.stage import Stage, init_containers, short_name


def with_relays(stage: Stage) -> Stage:
    """The stage with a relay in each pod that gets kubectl from its operator; its notes say so."""
    agent = stage.agent
    if agent is None:
        return stage
    calling = [pod for pod in stage.pods if any(each["name"] == agent.delivery for each in init_containers(pod))]
    return dataclasses.replace(
        stage,
        pods=tuple(_with_relay(pod, agent) if pod in calling else pod for pod in stage.pods),
        notes=(*stage.notes, *(_told(pod, agent) for pod in calling)),
    )


def _with_relay(pod: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """In the image of the pod's own program, since that has to run the stand-in too."""
    changed = copy.deepcopy(pod)
    program, stand_in = (Path(str(module.__file__)).read_text(encoding="utf-8") for module in (relay, client))
    for container in init_containers(changed):
        if container["name"] == agent.delivery:
            container.pop("args", None)
            container["image"] = changed["spec"]["containers"][0]["image"]
            container["command"] = ["python3", "-IS", "-c", program, agent.client, agent.hostfile, stand_in]
            container["stdin"] = True
    return changed


def _told(pod: dict[str, Any], agent: Agent) -> str:
    return (
        f"{short_name(pod)}: `kubectl exec` reaches the pods of this rehearsal by a stand-in at {agent.client}, which needs `python3` in the "
        f"image; the pod starts when those in {agent.hostfile} run, for which nothing waits in the cluster"
    )
