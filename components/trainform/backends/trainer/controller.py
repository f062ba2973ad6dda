"""The pods that the controllers of Trainer and JobSet make from a TrainingRuntime and a TrainJob, for a rehearsal
without a cluster.

Source: Kubeflow Trainer 2.3.0, `pkg/runtime` (`newRuntimeInfo`, the plugins' `EnforceMLPolicy`, jobset's `Build`); the
engine tests compare the result with the pods of the real controllers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION, SCHEDULER
from trainform.backends.jobset.controller import controller_pods
from trainform.backends.kubernetes.indexed_job import INDEX_LABEL
from trainform.backends.trainer.runtime import (
    HOSTFILE_MOUNT,
    LAUNCHER,
    MPI,
    MPI_VARIABLES,
    NODE,
    TORCH,
    TORCH_PORT,
    TORCH_VARIABLES,
    TRAINER,
    ancestor,
    node_containers,
    node_pods,
    replicated_jobs,
    runtime_launcher_is_node,
)
from trainform.manifests.templates import CONTAINER_FIELDS
from trainform.spec.layers import merge_patch

NAMED = ("volumes", "imagePullSecrets")
HOSTFILE_SUFFIX, SSH_SUFFIX = "-mpi-hostfile", "-mpi-ssh-auth"
# The files of Trainer's Secret in the mount; the API shows `mode` as a decimal number.
SSH_FILES = [
    {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
    {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
    {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
]


def controller_objects(
    runtime: dict[str, Any], job: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Return the pods in the order of replicated jobs, and the data of the ConfigMap with MPI's hostfile by its
    name."""
    spec = copy.deepcopy(runtime["spec"])
    trainer = job["spec"].get("trainer", {})
    for patch in job["spec"].get("runtimePatches", []):
        _patch(spec, patch.get("trainingRuntimeSpec", {}).get("template", {}).get("spec", {}))
    policy = spec.get("mlPolicy", {})
    for replicated in replicated_jobs(spec):
        count = _count(spec, trainer, replicated)
        replicated["template"]["spec"] |= {"parallelism": count, "completions": count}
        replicated["template"]["spec"]["template"].setdefault("metadata", {})
    if TORCH in policy:
        _torch(spec, job)
    config_maps = _mpi(spec, job) if MPI in policy else {}
    _trainer(spec, trainer)
    jobset = spec["template"]["spec"]
    jobset.setdefault("network", {}).setdefault("subdomain", job["metadata"]["name"])
    pods = controller_pods(job["metadata"], jobset)
    group = {GROUP_ANNOTATION: job["metadata"]["name"]} if SCHEDULER in spec.get("podGroupPolicy", {}) else {}
    for pod in pods:
        metadata = pod["metadata"]
        metadata["annotations"] = {
            **metadata["annotations"],
            **group,
            INDEX_LABEL: metadata["labels"][INDEX_LABEL],  # PET_NODE_RANK reads this annotation
        }
    return pods, config_maps


def _patch(spec: dict[str, Any], patch: dict[str, Any]) -> None:
    """Apply the TrainJob's patch to the runtime's pods. Trainer merges as Kubernetes does: items of lists by their
    keys."""
    patches = {
        item["name"]: item.get("template", {}).get("spec", {}).get("template", {})
        for item in patch.get("replicatedJobs", [])
    }
    for replicated in replicated_jobs(spec):
        template = replicated["template"]["spec"]["template"]
        change = patches.get(replicated["name"], {})
        template["metadata"] = merge_patch(template.get("metadata", {}), change.get("metadata", {}))
        for field, value in change.get("spec", {}).items():
            if field in CONTAINER_FIELDS:
                _patch_containers(template["spec"].get(field, []), value)
            elif field in NAMED:
                _upsert(template["spec"], field, value, "name")
            else:
                template["spec"][field] = merge_patch(template["spec"].get(field, {}), value)


def _patch_containers(known: list[dict[str, Any]], patches: list[dict[str, Any]]) -> None:
    for container, other in ((each, item) for item in patches for each in known if each["name"] == item["name"]):
        _upsert(container, "env", other.get("env", []), "name")
        _upsert(container, "volumeMounts", other.get("volumeMounts", []), "mountPath")
        own = merge_patch(container.get("securityContext", {}), other.get("securityContext", {}))
        container |= {"securityContext": own} if own else {}


def _count(spec: dict[str, Any], trainer: dict[str, Any], replicated: dict[str, Any]) -> int:
    """Return the number of pods of a replicated job, at least one."""
    policy, asked = spec.get("mlPolicy"), trainer.get("numNodes")
    count: int = replicated["template"]["spec"].get("parallelism", 1)
    labelled = ancestor(replicated) == TRAINER
    if labelled and policy is not None:
        count = policy.get("numNodes", 1)
    if asked is not None and policy is not None and MPI in policy:
        count = node_pods(spec, asked) if replicated["name"] == NODE else count
    elif asked is not None and labelled:
        count = asked
    return max(count, 1)


def _trainer(spec: dict[str, Any], trainer: dict[str, Any]) -> None:
    """Set the TrainJob's `trainer` in the containers `node`. If the launcher is a node, the other nodes get its
    variables and resources too."""
    for replicated in replicated_jobs(spec):
        labelled = ancestor(replicated) == TRAINER
        for container in node_containers(replicated):
            if labelled:
                container |= {key: trainer[key] for key in ("image", "command", "args") if key in trainer}
            if labelled or (runtime_launcher_is_node(spec) and replicated["name"] == NODE):
                _upsert(container, "env", trainer.get("env", []), "name")
                resources = merge_patch(container.get("resources", {}), trainer.get("resourcesPerNode", {}))
                container |= {"resources": resources} if resources else {}


def _torch(spec: dict[str, Any], job: dict[str, Any]) -> None:
    name, trainer = job["metadata"]["name"], job["spec"].get("trainer")
    if trainer is None:
        return
    for replicated in replicated_jobs(spec):
        if ancestor(replicated) != TRAINER:
            continue
        rank = {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX_LABEL}']"}}
        values = (
            {"value": str(replicated["template"]["spec"]["parallelism"])},
            {"value": str(trainer.get("numProcPerNode", "auto"))},
            {"valueFrom": rank},
            {"value": f"{name}-{NODE}-0-0.{name}"},
            {"value": str(TORCH_PORT)},
        )
        for container in node_containers(replicated):
            _upsert(container, "env", trainer.get("env", []), "name")
            _upsert(container, "env", _entries(TORCH_VARIABLES, values), "name")
            _upsert(container, "ports", [{"containerPort": TORCH_PORT}], "containerPort")


def _mpi(spec: dict[str, Any], job: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Add the mounts and variables of the MPI policy, and return the data of the hostfile's ConfigMap by its name."""
    name, policy = job["metadata"]["name"], spec["mlPolicy"][MPI]
    slots = job["spec"].get("trainer", {}).get("numProcPerNode", policy.get("numProcPerNode", 1))
    subdomain = spec["template"]["spec"].get("network", {}).get("subdomain", name)
    values = ({"value": f"{HOSTFILE_MOUNT}/hostfile"}, {"value": "true"}, {"value": str(slots)})
    variables = _entries(MPI_VARIABLES, (*values, {"value": "-o ConnectionAttempts=10"}))
    secret = {"secretName": f"{name}{SSH_SUFFIX}", "defaultMode": 0o400, "items": SSH_FILES}
    item = {"key": "hostfile", "path": "hostfile", "mode": 0o444}
    listed = {"name": f"{name}{HOSTFILE_SUFFIX}", "items": [item], "defaultMode": 0o644}
    hosts = []
    for replicated in replicated_jobs(spec):
        launches = replicated["name"] == LAUNCHER
        if not launches and replicated["name"] != NODE:
            continue
        if not launches or runtime_launcher_is_node(spec):
            count = replicated["template"]["spec"]["parallelism"]
            hosts += [f"{name}-{replicated['name']}-0-{index}.{subdomain}" for index in range(count)]
        volumes = {"mpi-ssh-auth": {"secret": secret}} | ({"mpi-hostfile": {"configMap": listed}} if launches else {})
        paths = {"mpi-ssh-auth": policy.get("sshAuthMountPath", defaults.SSH_FOLDER), "mpi-hostfile": HOSTFILE_MOUNT}
        pod = replicated["template"]["spec"]["template"]["spec"]
        _upsert(pod, "volumes", [{"name": volume, **source} for volume, source in volumes.items()], "name")
        for container in node_containers(replicated):
            mounts = [{"name": volume, "mountPath": paths[volume]} for volume in volumes]
            _upsert(container, "volumeMounts", mounts, "mountPath")
            _upsert(container, "env", variables if launches else [], "name")
    return {f"{name}{HOSTFILE_SUFFIX}": {"hostfile": "".join(f"{host} slots={slots}\n" for host in hosts)}}


def _entries(names: Iterable[str], sources: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, **source} for name, source in zip(names, sources, strict=True)]


def _upsert(owner: dict[str, Any], field: str, entries: list[dict[str, Any]], key: str) -> None:
    """Put each entry in the place of the item with the same key, or at the end if there is none."""
    items = list(owner.get(field, []))
    for entry in entries:
        place = next((index for index, item in enumerate(items) if item.get(key) == entry[key]), len(items))
        items[place : place + 1] = [entry]
    if items:
        owner[field] = items
