"""The pods that Volcano's controller makes from a Job, and the lists of hosts that its plugin svc adds to them.

Source: Volcano 1.14.1, pkg/controllers/job (`createJobPod`) and its plugin svc (`GenerateHosts`: of each task a
variable and a file with all its hosts, in one ConfigMap); the engine tests compare the result with the pods of the real
controller.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.pods import pod_from_template
from trainform.plan.model import Plan, RolePlan

HOSTS_MOUNT = "/etc/volcano"


def controller_objects(job: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Return the pods in the order of tasks, and the data of the svc plugin's ConfigMap by its name."""
    hosts = _hosts_name(job)
    variables = [
        {"name": variable, "valueFrom": {"configMapKeyRef": {"name": hosts, "key": variable}}}
        for task in job["spec"]["tasks"]
        for variable in host_variables(task["name"])
    ]
    pods = [_pod(job, task, index, variables) for task in job["spec"]["tasks"] for index in range(task["replicas"])]
    return pods, {hosts: _hosts(job)}


def host_variables(task: str) -> tuple[str, str]:
    """Return the names of the variables with the hosts of a task, and with their number."""
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
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        container.setdefault("env", []).extend(variables)
        container.setdefault("volumeMounts", []).append({"name": hosts, "mountPath": HOSTS_MOUNT})
    spec.setdefault("volumes", []).append({"name": hosts, "configMap": {"name": hosts}})
    return pod_from_template(name, metadata["namespace"], template, labels)


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


def host_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with lists of hosts that let no program start, or are too long for the ConfigMap."""
    written = 0
    for role in plan.roles:
        sizes = dict(_lists(plan, role))
        written += 2 * sum(sizes.values())
        name, size = max(sizes.items(), key=lambda item: len(item[0]) + item[1])
        size += len(f"{name}=")
        if size > defaults.LONGEST_WORD:
            reason = (
                f"Volcano gives every container the addresses of the role in {name}, which are {size} bytes; Linux "
                f"starts no program with a variable of more than {defaults.LONGEST_WORD}"
            )
            fix = f"write {role.replicas * defaults.LONGEST_WORD // size} or less, or use another backend"
            yield Problem(f"roles.{role.name}.replicas", role.replicas, reason, fix)
    if written > defaults.LARGEST_OBJECT:
        reason = (
            f"Volcano writes the addresses of all pods twice into one ConfigMap, which are {written} bytes; "
            f"Kubernetes takes at most {defaults.LARGEST_OBJECT}"
        )
        yield Problem("roles", None, reason, "use fewer replicas, or another backend")


def _lists(plan: Plan, role: RolePlan) -> Iterator[tuple[str, int]]:
    """Yield the variable with the hosts of each of the role's tasks, and how many bytes they are: names and commas."""
    pods = plan.pods_of(role)
    for group in role.groups():
        addresses = [pod.address for pod in itertools.islice(pods, group.replicas)]
        yield host_variables(group.name)[0], len(",".join(addresses))


def hosts_of_separate_tasks(plan: Plan) -> dict[str, str]:
    """Return the hosts, and their number, of each role whose replicas are separate tasks: the plugin lists hosts by
    task. They are in a ConfigMap, since in the templates they would take space with the square of the replicas."""
    values: dict[str, str] = {}
    for role in plan.roles:
        if role.per_replica:
            hosts = [pod.address for pod in plan.pods_of(role)]
            values |= dict(zip(host_variables(role.name), (",".join(hosts), str(len(hosts))), strict=True))
    return values
