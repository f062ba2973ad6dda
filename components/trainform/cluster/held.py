"""Pods of a live cluster: their job, node, queue and requests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.gangs import GROUP_ANNOTATION, PREEMPTABLE, QUEUE_ANNOTATION
from trainform.backends.table import BACKENDS
from trainform.cluster.amounts import POD_SLOTS, Amounts, all_spelled, summed
from trainform.cluster.facts import LiveNode, LiveQueue
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.plan.model import job_name

# The labels that name the job of a pod, of which the first that the pod has counts: one without a prefix may be of a
# part of the job.
JOB_LABELS = (
    *sorted({backend.JOB_LABEL for backend in BACKENDS.values()} - {""}, key=lambda label: ("/" not in label, label)),
    "batch.kubernetes.io/job-name",
)
ENDED = frozenset({"Succeeded", "Failed"})
TRUE = ("true", "t", "1")  # all else counts as false
TERMINATING = "Terminating"
OF_NODES = frozenset({"DaemonSet", "Node"})
"""The owners of pods that belong to a node and never end."""


class HeldPod(Struct, frozen=True):
    """One pod. job: NAMESPACE/NAME of the job that it belongs to, or of its owner, or its own. group: its PodGroup.
    queue: the queue that it names itself; each "" if there is none. started: when its containers began to run. of_node:
    it belongs to its node and never ends. firm: Volcano must not evict it. priority: None if it has none."""

    job: str
    group: str
    queue: str
    node: str
    phase: str
    started: str
    of_node: bool
    asked: Amounts
    firm: bool = False
    priority: int | None = None

    @property
    def holds(self) -> bool:
        """True if it takes room on a node."""
        return bool(self.node) and self.phase not in ENDED


def pod_reader() -> Callable[[Any], HeldPod]:
    """`held_pod` for a list: pods that ask for the same share what is worked out, in time and in memory."""
    return functools.partial(held_pod, known={})


def held_pod(body: Any, known: dict[str, Amounts] | None = None) -> HeldPod:
    """What is kept of a pod. known: what other pods ask for, by their resources as text."""
    pod = Template(1, 1, mapping(body))
    metadata, status = mapping(pod.body.get("metadata")), mapping(pod.body.get("status"))
    namespace, annotations = str(metadata.get("namespace", "")), pod.annotations
    owner = next((owner for owner in mappings(metadata.get("ownerReferences")) if owner.get("controller")), {})
    priority = pod.spec.get("priority")
    phase = TERMINATING if metadata.get("deletionTimestamp") else str(status.get("phase", ""))
    group = annotations.get(GROUP_ANNOTATION)
    return HeldPod(
        job=f"{namespace}/{_job(pod.labels, owner, metadata)}",
        group=f"{namespace}/{group}" if group else "",
        queue=str(annotations.get(QUEUE_ANNOTATION, "")),
        node=str(pod.spec.get("nodeName", "")),
        phase=phase,
        started=_started(status),
        of_node=owner.get("kind") in OF_NODES,
        asked=_asked(pod, {} if known is None else known),
        firm=str(annotations.get(PREEMPTABLE, pod.labels.get(PREEMPTABLE, "true"))).lower() not in TRUE,
        priority=priority if isinstance(priority, int) else None,
    )


def _asked(pod: Template, known: dict[str, Amounts]) -> Amounts:
    holders = [(pod.spec, None), *((each, index is None) for index, each in pod.containers())]
    key = repr([(holder.get("resources"), holder.get("restartPolicy"), kind) for holder, kind in holders])
    if key not in known:
        requested = {resource: pod.pod_request(resource) for resource in sorted(pod.resources())}
        known[key] = {**requested, POD_SLOTS: Decimal(1)}
    return known[key]


def _job(labels: Mapping[str, Any], owner: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    experiment, revision = labels.get(defaults.NAME_LABEL), labels.get(defaults.REVISION_LABEL)
    if experiment and revision:
        return job_name(str(experiment), str(revision))
    named = (labels.get(label) for label in JOB_LABELS)
    candidates = (*named, owner.get("name"), metadata.get("name"))
    return next((str(name) for name in candidates if name), "")


def _started(status: Mapping[str, Any]) -> str:
    states = (mapping(mapping(each.get("state")).get("running")) for each in mappings(status.get("containerStatuses")))
    return min((str(state["startedAt"]) for state in states if "startedAt" in state), default="")


# --- sums


def held_by_job(pods: Iterable[HeldPod]) -> dict[str, dict[str, str]]:
    """What the pods of each job ask for, by its name in order."""
    requests: dict[str, list[Amounts]] = {}
    for pod in pods:
        requests.setdefault(pod.job, []).append(pod.asked)
    return {job: all_spelled(summed(requests[job])) for job in sorted(requests)}


def priorities(pods: Iterable[HeldPod]) -> dict[str, int]:
    """The highest priority of each job's pods, by its name."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.priority is not None:
            found[pod.job] = max(pod.priority, found.get(pod.job, pod.priority))
    return found


def with_holders(queue: LiveQueue, pods: Sequence[HeldPod]) -> LiveQueue:
    """The queue with what these pods, all of those in it, ask for."""
    firm = {pod.job for pod in pods} - {pod.job for pod in pods if not pod.firm}
    return structs.replace(queue, holders=held_by_job(pods), firm=frozenset(firm))


def with_pods(node: LiveNode, pods: Iterable[HeldPod]) -> LiveNode:
    """The node with what these pods, all of those on it, ask for."""
    here = list(pods)
    total = summed(pod.asked for pod in here)
    holders = held_by_job(pod for pod in here if not pod.of_node)
    return structs.replace(node, requested=all_spelled(total), holders=holders)


def free_node(body: Any) -> LiveNode:
    """A node without its pods."""
    node = mapping(body)
    metadata, spec = mapping(node.get("metadata")), mapping(node.get("spec"))
    allocatable = mapping(mapping(node.get("status")).get("allocatable"))
    return LiveNode(
        str(metadata.get("name", "")),
        {str(name): str(value) for name, value in mapping(metadata.get("labels")).items()},
        tuple({str(name): str(value) for name, value in taint.items()} for taint in mappings(spec.get("taints"))),
        {str(name): str(value) for name, value in allocatable.items()},
        {},
        open=not spec.get("unschedulable"),
    )
