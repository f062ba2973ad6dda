"""Jobs that wait, as their cluster has them: the rendered job object, its gang, and the pods of its controller."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from tests.review.jobs_of_previews import GPU, NAMESPACE, ROOM, live, rendered, workers
from trainform.backends.backend import BACKENDS
from trainform.cluster.facts import LiveClusterQueue, LiveFacts, LiveKueue
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import job_body
from trainform.running.facts import UNREAD, Facts
from trainform.running.snapshot import Snapshot, Target
from trainform.running.waiting import reasons
from trainform.spec.environment import Environment

BEGUN, CREATED, NOW = "2026-11-27T14:00:00Z", "2026-11-27T14:00:02Z", "2026-11-27T14:05:00Z"
QUEUE = {"metadata": {"name": "night"}, "status": {"state": "Open"}}
KUEUE = {"backend": "jobset", "admission": "kueue"}


def cluster(**parts: Any) -> Environment:
    """The environment of the reviews' tests, with other parts."""
    return ROOM.model_copy(update=parts)


def made(environment: Environment = ROOM, **parts: Any) -> RenderedJob:
    """Four pods of eight accelerators in the queue `night`."""
    return rendered(environment, **{"queue": "night", **workers(4), **parts}).rendered


def pods_of(job: RenderedJob) -> list[dict[str, Any]]:
    """The pods as the job's controller makes them; none has a node."""
    backend = BACKENDS[job.plan.backend]
    pods, _ = backend.pods(job.plan, job.manifests)
    waiting = {"status": {"phase": "Pending"}}
    return [identified(pod, f"pod-{index}", CREATED) | waiting for index, pod in enumerate(pods)]


def identified(body: dict[str, Any], uid: str, created: str = BEGUN) -> dict[str, Any]:
    metadata = {**body["metadata"], "namespace": NAMESPACE, "uid": uid, "creationTimestamp": created}
    return copy.deepcopy({**body, "metadata": metadata})


def gang(job: RenderedJob, *conditions: dict[str, Any], phase: str = "Pending") -> dict[str, Any]:
    """The PodGroup that Volcano's controller makes."""
    spec = {"minMember": job.plan.min_available, "queue": job.plan.queue.name}
    metadata = {"name": f"{job.plan.job}-0d4f2a8e", "uid": "gang", "creationTimestamp": BEGUN}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": [*conditions]}}


def workload(job: RenderedJob, *conditions: dict[str, Any]) -> dict[str, Any]:
    """The Workload that Kueue makes."""
    metadata = {"name": f"jobset-{job.plan.job}-8c1f0", "uid": "gang", "creationTimestamp": BEGUN}
    return {"metadata": metadata, "spec": {"queueName": "night"}, "status": {"conditions": [*conditions]}}


def condition(kind: str, status: str, reason: str, message: str, at: str = CREATED) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def unplaced(pod: dict[str, Any], message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    """The pod with the condition that a scheduler gives to one that has no place."""
    conditions = [condition("PodScheduled", "False", reason, message)]
    return {**pod, "status": {**pod["status"], "conditions": conditions}}


def placed(pod: Mapping[str, Any], node: str = "node-0", **waiting: str) -> dict[str, Any]:
    """The pod on a node, where its container waits."""
    states = [{"name": each["name"], "state": {"waiting": waiting}} for each in pod["spec"]["containers"]]
    status = {"phase": "Pending", "startTime": CREATED, "containerStatuses": states}
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}


def event(of: Mapping[str, Any], reason: str, message: str, at: str = "2026-11-27T14:04:00Z") -> dict[str, Any]:
    involved = {"kind": of.get("kind"), "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
    return {"reason": reason, "message": message, "lastTimestamp": at, "involvedObject": involved, "metadata": {}}


def snapshot(of: RenderedJob, **parts: Any) -> Snapshot:
    """The job without pods: its operator has looked at it, and its queue is open."""
    body = identified(job_body(of.manifests), "job") | {"status": {"state": {"phase": "Pending"}}}
    target = Target(of.experiment.name, of.environment, "lab/sdxl-lora.dev")
    whole = Snapshot(NOW, target, of.plan.record, body, gang=gang(of), queue=QUEUE)
    return structs.replace(whole, **parts)


def facts(*nodes: Any, **parts: Any) -> Facts:
    """A cluster of these nodes. Parts of the facts about the job are given by their names too."""
    own = {name: parts.pop(name) for name in ("position", "nodes") if name in parts}
    return Facts(live(nodes=nodes or None, **parts), **own)


def no_facts(**not_read: str) -> Facts:
    """A cluster of which this account may read nothing."""
    return Facts(LiveFacts(NOW, not_read=not_read))


def codes(snapshot: Snapshot, known: Facts = UNREAD) -> list[str]:
    return [reason.code for reason in reasons(snapshot, known)]


# --- Kueue

OF_KUEUE = made(cluster(**KUEUE))
UNUSED = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu, 8 more needed"
RESERVED = condition("QuotaReserved", "False", "Pending", UNUSED)
EMPTY = {"metadata": {"name": "night"}}


def kueue(nominal: str = "32", **holders: dict[str, str]) -> LiveKueue:
    """The queue `night`, in which these jobs of team-b hold something."""
    held = {f"team-b/{job}": amounts for job, amounts in holders.items()}
    queue = LiveClusterQueue("research", {GPU: nominal}, holders=held)
    return LiveKueue({f"{NAMESPACE}/night": "research"}, (queue,), jobs={"77aa": "team-b/eval"})
