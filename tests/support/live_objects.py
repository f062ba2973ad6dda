"""Objects of a cluster as its API server returns them: nodes, queues, jobs and their pods."""

from __future__ import annotations

from typing import Any

from trainform import defaults

NAMESPACE = "ai-namespace"
GPU = "baidu.com/a800_80g_cgpu"


def node(name: str, accelerators: int = 8, **spec: Any) -> dict[str, Any]:
    allocatable = {"cpu": "96", "memory": "1Ti", GPU: str(accelerators), "pods": "110"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def queue(name: str, **spec: Any) -> dict[str, Any]:
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    return {**body, "spec": {"weight": 1, "reclaimable": True, **spec}, "status": {"state": "Open"}}


def group(name: str, queue: str, namespace: str = NAMESPACE) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"queue": queue},
    }


def volcano_job(name: str, phase: str = "Running", namespace: str = NAMESPACE) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": "2026-11-22T09:00:00Z"}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {},
        "status": {"state": {"phase": phase}} if phase else {},
    }


def pod(
    job: str,
    index: int,
    phase: str = "Running",
    on: str | None = "node-0",
    accelerators: int = 8,
    namespace: str = NAMESPACE,
    experiment: str = "",
    started: str = "2026-11-22T09:05:00Z",
) -> dict[str, Any]:
    """Return a pod of a Volcano job; with `experiment` one of trainform's, whose job is EXPERIMENT-REVISION."""
    labels = {"volcano.sh/job-name": job}
    if experiment:
        revision = job.removeprefix(f"{experiment}-")
        labels |= {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment, defaults.REVISION_LABEL: revision}
    annotations = {"scheduling.k8s.io/group-name": f"{job}-uid"}
    metadata = {"name": f"{job}-worker-{index}", "namespace": namespace, "labels": labels, "annotations": annotations}
    resources = {"requests": {"cpu": "8", "memory": "64Gi", GPU: str(accelerators)}}
    running = [{"name": "main", "state": {"running": {"startedAt": started}}}] if phase == "Running" else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "main", "image": "registry.example.com/ai/train:1", "resources": resources}],
            **({} if on is None else {"nodeName": on}),
        },
        "status": {"phase": phase, "containerStatuses": running},
    }
