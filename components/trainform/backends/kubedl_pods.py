"""The pods that KubeDL makes of its jobs, for a rehearsal without a cluster.

Source: KubeDL 0.5.0, pkg/job_controller (`createNewPod`, `setupHostNetwork`), controllers/tensorflow and controllers/pytorch
(`SetClusterSpec`), with Volcano as its gang scheduler and the feature gates as they are by default. Only the host ports are other ones than
in a cluster, where KubeDL draws them.
"""

from __future__ import annotations

import copy
from typing import Any

from trainform.backends.gangs import GROUP_ANNOTATION
from trainform.backends.job_kinds import JobKind, declared_port, rendered_kind, rendered_specs, tf_config
from trainform.manifests.pods import made_pod

INDEX_LABEL = "replica-index"
OWN_LABELS = ("replica-index", "replica-type", "job-name", "group-name", "job-role")
NETWORK_ANNOTATION, HOST = "kubedl.io/network-mode", "host"

_API_GROUP = "training.kubedl.io"
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
    specs = rendered_specs(job)
    places = [(name, index) for name, spec in specs.items() for index in range(spec["replicas"])]
    return [_pod(job, name, index, _FIRST_PORT + number) for number, (name, index) in enumerate(places)]


def _pod(job: dict[str, Any], name: str, index: int, port: int) -> dict[str, Any]:
    metadata, spec = job["metadata"], rendered_specs(job)[name]
    template = copy.deepcopy(spec["template"])
    made = template["spec"]
    made["restartPolicy"] = "Never" if spec["restartPolicy"] == "ExitCode" else spec["restartPolicy"]
    host = metadata.get("annotations", {}).get(NETWORK_ANNOTATION) == HOST
    if host:
        made |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    for container in made["containers"]:
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _ports(rendered_kind(job), name, made, port if host else None)
    _VARIABLES[job["kind"]](job, name, index, made, port if host else None)
    labels = {
        "group-name": _API_GROUP,
        "job-name": metadata["name"],
        "replica-type": name.lower(),
        "replica-index": str(index),
        **({"job-role": "master"} if name in _SPEAKING else {}),
    }
    gang = {GROUP_ANNOTATION: f"{metadata['name']}-{name.lower()}"}
    return made_pod(_pod_name(job, name, index), metadata["namespace"], template, labels, gang)


def _pod_name(job: dict[str, Any], name: str, index: int) -> str:
    return f"{job['metadata']['name']}-{name.lower()}-{index}"


def _ports(kind: JobKind, name: str, spec: dict[str, Any], drawn: int | None) -> None:
    """The port that KubeDL takes for granted, and the one that it draws on the host network."""
    main = next(container for container in spec["containers"] if container["name"] == kind.container)
    declared = next((each for each in main.get("ports", []) if each.get("name") == kind.port_name), None)
    if declared is None and (drawn is not None or name != "Worker" or kind.kind == "TFJob"):
        declared = {"name": kind.port_name, "containerPort": kind.port}
        main.setdefault("ports", []).append(declared)
    if declared is not None and drawn is not None:
        declared |= {"containerPort": drawn, "hostPort": drawn}


def _pytorch(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """The Master calls itself `localhost`."""
    specs, is_master = rendered_specs(job), name == "Master"
    values = (
        str(drawn if is_master and drawn is not None else declared_port(job, "Master")),
        "localhost" if is_master else _pod_name(job, "Master", 0),
        str(index if is_master else index + 1),
        "0",
        str(sum(each["replicas"] for each in specs.values())),
    )
    for container in spec["containers"]:
        entries = [{"name": word, "value": value} for word, value in zip(_OF_PYTORCH, values, strict=True)]
        container.setdefault("env", []).extend(entries)


def _tensorflow(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """The pod's own entry has the port that it opens, the others those of their Services."""

    def port(kind: str, number: int) -> int:
        return drawn if drawn is not None and (kind, number) == (name, index) else declared_port(job, kind)

    config = tf_config(job, (name, index), port)
    if config is not None:
        wanted = rendered_kind(job).container
        main = next(container for container in spec["containers"] if container["name"] == wanted)
        main.setdefault("env", []).append({"name": "TF_CONFIG", "value": config})


_VARIABLES = {"PyTorchJob": _pytorch, "TFJob": _tensorflow}
