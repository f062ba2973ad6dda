"""The pods that Volcano's controller makes from a Job, for a rehearsal without a cluster.

Source: Volcano 1.14.1, pkg/controllers/job (`createJobPod`) and its plugin svc; the engine tests compare the result
with the pods of the real controller.
"""

from __future__ import annotations

import copy
from typing import Any

from trainform.manifests.pods import pod_from_template

HOSTS_MOUNT = "/etc/volcano"


def controller_objects(job: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """The pods in the order of tasks, and the data of the svc plugin's ConfigMap by its name."""
    hosts = _hosts_name(job)
    variables = [
        {"name": variable, "valueFrom": {"configMapKeyRef": {"name": hosts, "key": variable}}}
        for task in job["spec"]["tasks"]
        for variable in host_variables(task["name"])
    ]
    pods = [_pod(job, task, index, variables) for task in job["spec"]["tasks"] for index in range(task["replicas"])]
    return pods, {hosts: _hosts(job)}


def host_variables(task: str) -> tuple[str, str]:
    """The names of the variables in which the svc plugin lists the hosts of a task, and their number, in every
    container."""
    stem = f"VC_{task.upper().replace('-', '_')}"
    return f"{stem}_HOSTS", f"{stem}_NUM"


def _pod(job: dict[str, Any], task: dict[str, Any], index: int, variables: list[dict[str, Any]]) -> dict[str, Any]:
    metadata = job["metadata"]
    hosts = _hosts_name(job)
    template = copy.deepcopy(task["template"])
    name = _pod_name(job, task, index)
    labels = {
        "volcano.sh/job-name": metadata["name"],
        "volcano.sh/job-namespace": metadata["namespace"],
        "volcano.sh/queue-name": job["spec"]["queue"],
        "volcano.sh/task-index": str(index),
        "volcano.sh/task-spec": task["name"],
    }
    spec = template["spec"]
    spec.setdefault("hostname", name)
    spec.setdefault("schedulerName", job["spec"]["schedulerName"])
    _mount_volumes(job, spec)
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        container.setdefault("env", []).extend(variables)
        container.setdefault("volumeMounts", []).append({"name": hosts, "mountPath": HOSTS_MOUNT})
    spec.setdefault("volumes", []).append({"name": hosts, "configMap": {"name": hosts}})
    return pod_from_template(name, metadata["namespace"], template, labels)


def _mount_volumes(job: dict[str, Any], spec: dict[str, Any]) -> None:
    """The job's own volumes, in all containers of a pod but those of its start: a claim once. A claim that Volcano
    makes is empty at first."""
    seen = set()
    for index, volume in enumerate(job["spec"].get("volumes", [])):
        claim, name = volume.get("volumeClaimName"), f"{job['metadata']['name']}-volume-{index}"
        if claim is not None and claim in seen:
            continue
        seen.add(claim)
        source = {"emptyDir": {}} if claim is None else {"persistentVolumeClaim": {"claimName": claim}}
        spec.setdefault("volumes", []).append({"name": name, **source})
        for container in spec["containers"]:
            container.setdefault("volumeMounts", []).append({"name": name, "mountPath": volume["mountPath"]})


def _hosts_name(job: dict[str, Any]) -> str:
    return f"{job['metadata']['name']}-svc"


def _pod_name(job: dict[str, Any], task: dict[str, Any], index: int) -> str:
    return f"{job['metadata']['name']}-{task['name']}-{index}"


def _hosts(job: dict[str, Any]) -> dict[str, str]:
    data: dict[str, str] = {}
    for task in job["spec"]["tasks"]:
        subdomain = task["template"]["spec"].get("subdomain", job["metadata"]["name"])
        hosts = [f"{_pod_name(job, task, index)}.{subdomain}" for index in range(task["replicas"])]
        listed, number = host_variables(task["name"])
        data |= {
            f"{task['name'].replace('-', '_')}.host": "\n".join(hosts),
            listed: ",".join(hosts),
            number: str(len(hosts)),
        }
    return data
