"""Replaces the init container that brings kubectl by one that brings the stand-in, and gives every pod a relay."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

from trainform.local.rehearsal.kubexec import client, relay
from trainform.local.rehearsal.workload import Workload, init_containers, pod_name, short_name
from trainform.plan.operator import Agent

VOLUME, MOUNT = "trainform-exec", "/trainform-exec"  # a volume of all pods, with the sockets of the relays
# -I: the caller's variables may be meant for another Python
DELIVER = f"""\
printf %s "$2" >"$1.py"
printf '#!/bin/sh\\nexec python3 -IS "$0.py" {MOUNT} "$@"\\n' >"$1"
chmod 755 "$1"
"""


def relay_command(pod: dict[str, Any]) -> list[str]:
    """Return the command that runs next to the pod's own program."""
    return ["python3", "-IS", "-c", _source(relay), f"{MOUNT}/{pod_name(pod)}"]


def insert_stand_ins(workload: Workload) -> Workload:
    """Return the workload with a stand-in, and a note, for each pod that gets kubectl from its operator."""
    agent = workload.agent
    if agent is None:
        return workload
    calling = [pod for pod in workload.pods if any(each["name"] == agent.delivery for each in init_containers(pod))]
    notes = (
        f"{short_name(pod)}: `kubectl exec` reaches the pods of this rehearsal by a stand-in at {agent.client}, which "
        "needs `python3` in the image, and waits for pods that do not run yet"
        for pod in calling
    )
    pods = tuple(_changed_pod(pod, agent) for pod in workload.pods)
    return dataclasses.replace(workload, pods=pods, notes=(*workload.notes, *notes))


def _changed_pod(pod: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """Return the pod with the volume of the sockets. The stand-in runs in the image of the pod's own program."""
    changed = copy.deepcopy(pod)
    main = changed["spec"]["containers"][0]
    changed["spec"].setdefault("volumes", []).append({"name": VOLUME, "persistentVolumeClaim": {"claimName": VOLUME}})
    main.setdefault("volumeMounts", []).append({"name": VOLUME, "mountPath": MOUNT})
    for container in init_containers(changed):
        if container["name"] == agent.delivery:
            container.pop("args", None)
            container["image"] = main["image"]
            container["command"] = ["/bin/sh", "-ec", DELIVER, "sh", agent.client, _source(client)]
    return changed


def _source(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")
