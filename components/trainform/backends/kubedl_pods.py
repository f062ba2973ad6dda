"""The pods that KubeDL makes of its jobs, for a rehearsal without a cluster.

Source: KubeDL 0.5.0, pkg/job_controller (`createNewPod`, `setupHostNetwork`), controllers/tensorflow and controllers/pytorch
(`SetClusterSpec`), with Volcano as its gang scheduler and the feature gates as they are by default. Only the host ports are other ones than
in a cluster, where KubeDL draws them.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from trainform.backends.gangs import GROUP_ANNOTATION

INDEX_LABEL = "replica-index"
OWN_LABELS = ("replica-index", "replica-type", "job-name", "group-name", "job-role")
NETWORK_ANNOTATION, HOST = "kubedl.io/network-mode", "host"

_API_GROUP = "training.kubedl.io"
_FIELDS = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}
_PORTS = {"PyTorchJob": ("pytorch", "pytorchjob-port", 23456), "TFJob": ("tensorflow", "tfjob-port", 2222)}
_FIRST_PORT = 20000
_OF_PYTORCH = ("MASTER_PORT", "MASTER_ADDR", "RANK", "PYTHONUNBUFFERED", "WORLD_SIZE")
_SPEAKING = ("Master", "Chief")


def appended(kind: str, pods: int) -> frozenset[str]:
    """Variables that a container finds after its own ones, over values that stand there."""
    if kind == "TFJob":
        return frozenset(["TF_CONFIG"] if pods != 1 else [])
    return frozenset(_OF_PYTORCH if kind == "PyTorchJob" else [])


def controller_pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Pods in the order of replica types."""
    specs = job["spec"][_FIELDS[job["kind"]]]
    places = [(name, index) for name, spec in specs.items() for index in range(spec["replicas"])]
    return [_pod(job, name, index, _FIRST_PORT + number) for number, (name, index) in enumerate(places)]


def _pod(job: dict[str, Any], name: str, index: int, port: int) -> dict[str, Any]:
    metadata, spec = job["metadata"], job["spec"][_FIELDS[job["kind"]]][name]
    template = copy.deepcopy(spec["template"])
    made = template["spec"]
    made["restartPolicy"] = "Never" if spec["restartPolicy"] == "ExitCode" else spec["restartPolicy"]
    host = metadata.get("annotations", {}).get(NETWORK_ANNOTATION) == HOST
    if host:
        made |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    for container in made["containers"]:
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _ports(job["kind"], name, made, port if host else None)
    _VARIABLES[job["kind"]](job, name, index, made, port if host else None)
    labels = {
        "group-name": _API_GROUP,
        "job-name": metadata["name"],
        "replica-type": name.lower(),
        "replica-index": str(index),
        **({"job-role": "master"} if name in _SPEAKING else {}),
    }
    gang = {GROUP_ANNOTATION: f"{metadata['name']}-{name.lower()}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": _pod_name(job, name, index),
            "namespace": metadata["namespace"],
            "labels": {**template["metadata"].get("labels", {}), **labels},
            "annotations": {**template["metadata"].get("annotations", {}), **gang},
        },
        "spec": made,
    }


def _pod_name(job: dict[str, Any], name: str, index: int) -> str:
    return f"{job['metadata']['name']}-{name.lower()}-{index}"


def _ports(kind: str, name: str, spec: dict[str, Any], drawn: int | None) -> None:
    """The port that KubeDL takes for granted, and the one that it draws on the host network."""
    wanted, port, number = _PORTS[kind]
    main = next(container for container in spec["containers"] if container["name"] == wanted)
    declared = next((each for each in main.get("ports", []) if each.get("name") == port), None)
    if declared is None and (drawn is not None or name != "Worker" or kind == "TFJob"):
        declared = {"name": port, "containerPort": number}
        main.setdefault("ports", []).append(declared)
    if declared is not None and drawn is not None:
        declared |= {"containerPort": drawn, "hostPort": drawn}


def _declared(job: dict[str, Any], name: str) -> int:
    """The port in the template: that of the Service."""
    wanted, port, number = _PORTS[job["kind"]]
    spec = job["spec"][_FIELDS[job["kind"]]][name]["template"]["spec"]
    ports = [each for made in spec["containers"] if made["name"] == wanted for each in made.get("ports", [])]
    return next((int(each["containerPort"]) for each in ports if each.get("name") == port), number)


def _pytorch(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """The Master calls itself `localhost`."""
    specs, is_master = job["spec"]["pytorchReplicaSpecs"], name == "Master"
    values = (
        str(drawn if is_master and drawn is not None else _declared(job, "Master")),
        "localhost" if is_master else _pod_name(job, "Master", 0),
        str(index if is_master else index + 1),
        "0",
        str(sum(each["replicas"] for each in specs.values())),
    )
    for container in spec["containers"]:
        entries = [{"name": word, "value": value} for word, value in zip(_OF_PYTORCH, values, strict=True)]
        container.setdefault("env", []).extend(entries)


def _tensorflow(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """TF_CONFIG: the pod's own entry has the port that it opens, the others those of their Services; not for a single pod."""
    specs = job["spec"]["tfReplicaSpecs"]
    if sum(each["replicas"] for each in specs.values()) == 1:
        return
    cluster = {
        kind.lower(): [
            _entry(job, kind, number, drawn if (kind, number) == (name, index) else None)
            for number in range(each["replicas"])
        ]
        for kind, each in sorted(specs.items(), key=lambda item: item[0].lower())
    }
    config = {"cluster": cluster, "task": {"type": name.lower(), "index": index}, "environment": "cloud"}
    main = next(container for container in spec["containers"] if container["name"] == "tensorflow")
    entry = {"name": "TF_CONFIG", "value": json.dumps(config, separators=(",", ":"))}
    main.setdefault("env", []).append(entry)


def _entry(job: dict[str, Any], name: str, index: int, drawn: int | None) -> str:
    host = f"{_pod_name(job, name, index)}.{job['metadata']['namespace']}.svc"
    return f"{host}:{_declared(job, name) if drawn is None else drawn}"


_VARIABLES = {"PyTorchJob": _pytorch, "TFJob": _tensorflow}
