"""Pods of a live cluster: their job, node, queue and requests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION, PREEMPTABLE, QUEUE_ANNOTATION
from trainform.backends.backend import BACKENDS
from trainform.cluster.amounts import POD_SLOTS, Amounts, all_spelled, summed
from trainform.cluster.facts import LiveNode, LiveQueue
from trainform.cluster.phases import ENDED_PODS, PodState, pod_state
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import Template
from trainform.plan.model import job_name

# Labels with the job of a pod, the first counts. A label without a prefix may name a part of the job.
JOB_LABELS = (
    *sorted({backend.JOB_LABEL for backend in BACKENDS.values()} - {""}, key=lambda label: ("/" not in label, label)),
    "batch.kubernetes.io/job-name",
)
TRUE = ("true", "t", "1")  # all else counts as false
NODE_OWNERS = frozenset({"DaemonSet", "Node"})
"""The owners of pods that belong to a node and never end."""


class HeldPod(Struct, frozen=True):
    """One pod. Texts are "" if the pod has no such value."""

    job: str
    """NAMESPACE/NAME of its job, or else of its owner, or else of the pod."""
    group: str
    """Its PodGroup."""
    queue: str
    """The queue that the pod itself names."""
    node: str
    state: PodState
    started: str
    """The time at which its first container began to run."""
    of_node: bool
    """It belongs to its node and never ends."""
    requests: Amounts
    limits: Amounts = {}
    """Under the names of a ResourceQuota: `limits.cpu`."""
    firm: bool = False
    """Volcano must not evict it."""
    priority: int | None = None

    @property
    def holds(self) -> bool:
        """Return True if it takes room on a node."""
        return bool(self.node) and self.state not in ENDED_PODS

    @property
    def waits(self) -> bool:
        """Return True if it has no node yet."""
        return self.state == PodState.WAITING


Known = dict[str, tuple[Amounts, Amounts]]


def pod_reader() -> Callable[[Any], HeldPod]:
    """Return `held_pod` with a cache for a list of pods: equal requests are computed and stored once."""
    return functools.partial(held_pod, known={})


def held_pod(body: Any, known: Known | None = None) -> HeldPod:
    """Return the parts of a pod that count. known: a cache of its amounts by the text of its resources."""
    pod = Template(1, 1, mapping(body))
    metadata, status = mapping(pod.body.get("metadata")), mapping(pod.body.get("status"))
    namespace, annotations = str(metadata.get("namespace", "")), pod.annotations
    owner = next((owner for owner in mappings(metadata.get("ownerReferences")) if owner.get("controller")), {})
    priority = pod.spec.get("priority")
    group = annotations.get(GROUP_ANNOTATION)
    requests, limits = _amounts(pod, {} if known is None else known)
    return HeldPod(
        job=f"{namespace}/{_job(pod.labels, owner, metadata)}",
        group=f"{namespace}/{group}" if group else "",
        queue=str(annotations.get(QUEUE_ANNOTATION, "")),
        node=str(pod.spec.get("nodeName", "")),
        state=pod_state(body),
        started=_started(status),
        of_node=owner.get("kind") in NODE_OWNERS,
        requests=requests,
        limits=limits,
        firm=str(annotations.get(PREEMPTABLE, pod.labels.get(PREEMPTABLE, "true"))).lower() not in TRUE,
        priority=priority if isinstance(priority, int) else None,
    )


def _amounts(pod: Template, known: Known) -> tuple[Amounts, Amounts]:
    holders = [(pod.spec, None), *((each, index is None) for index, each in pod.containers)]
    key = repr([(holder.get("resources"), holder.get("restartPolicy"), kind) for holder, kind in holders])
    if key not in known:
        requested = {resource: pod.pod_request(resource) for resource in sorted(pod.resources)}
        known[key] = {**requested, POD_SLOTS: Decimal(1)}, pod.pod_limits()
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


def held_by_job(pods: Iterable[HeldPod], *, limits: bool = False) -> dict[str, dict[str, str]]:
    """Return the requests of each job's pods, and their limits if a quota counts them, sorted by the job's name."""
    requests: dict[str, list[Amounts]] = {}
    for pod in pods:
        requests.setdefault(pod.job, []).append(pod.requests | pod.limits if limits else pod.requests)
    return {job: all_spelled(summed(requests[job])) for job in sorted(requests)}


def priorities(pods: Iterable[HeldPod]) -> dict[str, int]:
    """Return the highest priority of each job's pods, by the job's name."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.priority is not None:
            found[pod.job] = max(pod.priority, found.get(pod.job, pod.priority))
    return found


def add_queue_holders(queue: LiveQueue, pods: Sequence[HeldPod]) -> LiveQueue:
    """Return the queue with the requests of all its pods."""
    firm = {pod.job for pod in pods} - {pod.job for pod in pods if not pod.firm}
    return structs.replace(queue, holders=held_by_job(pods), firm=frozenset(firm))


def add_pods(node: LiveNode, pods: Iterable[HeldPod]) -> LiveNode:
    """Return the node with the requests of all its pods."""
    here = list(pods)
    total = summed(pod.requests for pod in here)
    holders = held_by_job(pod for pod in here if not pod.of_node)
    return structs.replace(node, requested=all_spelled(total), holders=holders)


def free_node(body: Any) -> LiveNode:
    """Return a node without its pods."""
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
