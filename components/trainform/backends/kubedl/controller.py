"""The pods that KubeDL makes from its jobs, for a rehearsal without a cluster.

Source: KubeDL 0.5.0, pkg/job_controller (`createNewPod`, `setupHostNetwork`), controllers/tensorflow and
controllers/pytorch (`SetClusterSpec`), with Volcano as its gang scheduler and the default feature gates. Only the host
ports differ from those in a cluster, where KubeDL chooses them at random.
"""

from __future__ import annotations

from typing import Any

from trainform.backends.admission import GROUP_ANNOTATION, SCHEDULER
from trainform.backends.replica_specs.kinds import (
    JobKind,
    add_port,
    copied_template,
    declared_port,
    main_container,
    main_port,
    pod_name,
    rendered_kind,
    rendered_specs,
    tf_config,
)
from trainform.manifests.pods import pod_from_template

INDEX_LABEL = "replica-index"
OWN_LABELS = ("replica-index", "replica-type", "job-name", "group-name", "job-role")
NETWORK_ANNOTATION, HOST = "kubedl.io/network-mode", "host"
# Pods begin again at every failure, wait for images in containers of their own, and keep a finalizer: for an AIMaster
# and OpenKruise.
ELASTIC_ANNOTATIONS = ("kubedl.io/enable-elastic-training", "pai.ai/enable-error-monitoring")

_API_GROUP = "training.kubedl.io"
_FIRST_PORT = 20000
_OF_PYTORCH = ("MASTER_PORT", "MASTER_ADDR", "RANK", "PYTHONUNBUFFERED", "WORLD_SIZE")
_MASTER_TYPES = ("Master", "Chief")


def appended(kind: str, pods: int) -> frozenset[str]:
    """Return the variables that KubeDL appends to a container's `env`, so that they replace values of the template."""
    if kind == "TFJob":
        return frozenset(["TF_CONFIG"] if pods != 1 else [])
    return frozenset(_OF_PYTORCH if kind == "PyTorchJob" else [])


def controller_pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods in the order of replica types."""
    specs = rendered_specs(job)
    places = [(name, index) for name, spec in specs.items() for index in range(spec["replicas"])]
    return [_pod(job, name, index, _FIRST_PORT + number) for number, (name, index) in enumerate(places)]


def _pod(job: dict[str, Any], name: str, index: int, port: int) -> dict[str, Any]:
    metadata, template = job["metadata"], copied_template(job, name)
    pod_spec = template["spec"]
    host = metadata.get("annotations", {}).get(NETWORK_ANNOTATION) == HOST
    if host:
        pod_spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    for container in pod_spec["containers"]:
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _ports(rendered_kind(job), name, pod_spec, port if host else None)
    _VARIABLES[job["kind"]](job, name, index, pod_spec, port if host else None)
    labels = {
        "group-name": _API_GROUP,
        "job-name": metadata["name"],
        "replica-type": name.lower(),
        "replica-index": str(index),
        **({"job-role": "master"} if name in _MASTER_TYPES else {}),
    }
    in_gang = pod_spec.get("schedulerName") == SCHEDULER
    gang = {GROUP_ANNOTATION: f"{metadata['name']}-{name.lower()}"} if in_gang else {}
    return pod_from_template(pod_name(job, name, index), metadata["namespace"], template, labels, gang)


def _ports(kind: JobKind, name: str, spec: dict[str, Any], drawn: int | None) -> None:
    """Add the port that KubeDL declares if the template has none; on the host network set the number that KubeDL
    draws."""
    declared = main_port(kind, spec)
    if declared is None and (drawn is not None or name != "Worker" or kind.kind == "TFJob"):
        declared = add_port(kind, spec)
    if declared is not None and drawn is not None:
        declared |= {"containerPort": drawn, "hostPort": drawn}


def _pytorch(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """Append the variables of a PyTorchJob. In the Master MASTER_ADDR is `localhost`."""
    specs, is_master = rendered_specs(job), name == "Master"
    values = (
        str(drawn if is_master and drawn is not None else declared_port(job, "Master")),
        "localhost" if is_master else pod_name(job, "Master", 0),
        str(index if is_master else index + 1),
        "0",
        str(sum(each["replicas"] for each in specs.values())),
    )
    for container in spec["containers"]:
        entries = [{"name": word, "value": value} for word, value in zip(_OF_PYTORCH, values, strict=True)]
        container.setdefault("env", []).extend(entries)


def _tensorflow(job: dict[str, Any], name: str, index: int, spec: dict[str, Any], drawn: int | None) -> None:
    """Append TF_CONFIG. The pod's own entry has the port that it opens, the others have the ports of their Services."""

    def port(kind: str, number: int) -> int:
        return drawn if drawn is not None and (kind, number) == (name, index) else declared_port(job, kind)

    config = tf_config(job, (name, index), port)
    if config is not None:
        main_container(rendered_kind(job), spec).setdefault("env", []).append({"name": "TF_CONFIG", "value": config})


_VARIABLES = {"PyTorchJob": _pytorch, "TFJob": _tensorflow}
