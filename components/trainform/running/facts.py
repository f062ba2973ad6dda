"""The facts of a cluster that tell why a job waits: nodes, queues, quotas, and other jobs."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from msgspec import Struct

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.cluster.facts import LiveFacts
from trainform.cluster.live import LiveReads
from trainform.cluster.operators import KUEUE
from trainform.review.context import JobReview
from trainform.review.preview import State, Step
from trainform.running.snapshot import Snapshot, name_of, text_at

EVICTIONS = ("Evict", "Preempted")  # events of Volcano's scheduler, and of Kubernetes'
POSITIONS, PLACED = "positions in the queue", "earlier nodes of the pods"


class Facts(Struct, frozen=True):
    """The facts about one job. position: of its Workload in Kueue's ClusterQueue, from 0; None if it is unknown.
    nodes: those on which its pods were before they were evicted."""

    live: LiveFacts
    position: int | None = None
    nodes: frozenset[str] = frozenset()


UNREAD = Facts(LiveFacts(""))
"""No facts."""


def read_facts(snapshot: Snapshot, seconds: float) -> Facts:
    """Read the facts in at most so many seconds. What is refused or late is under `live.not_read`."""
    namespace, space = snapshot.target.namespace, quote(snapshot.target.namespace, safe="")
    kueue, gang = snapshot.admission == defaults.KUEUE, name_of(snapshot.gang)
    with LiveReads(snapshot.target.environment.cluster.context, namespace, seconds, kueue=kueue) as reads:
        if kueue and gang:
            queue = quote(text_at(snapshot.gang, "spec.queueName"), safe="")
            place = f"/apis/visibility.{KUEUE.api_version}/namespaces/{space}/localqueues/{queue}/pendingworkloads"
            reads.start_list(POSITIONS, place, _position, {"limit": "1000"})  # it has no pages
        if snapshot.events_with(*EVICTIONS):
            selector = {"fieldSelector": "reason=Scheduled"}
            reads.start_list(PLACED, f"/api/v1/namespaces/{space}/events", _placed, selector)
        live = reads.facts()
        positions, placed = dict(reads.result(POSITIONS) or ()), reads.result(PLACED) or ()
    own = {text_at(event, "involvedObject.name") for event in snapshot.events}
    return Facts(live, positions.get(gang), frozenset(node for pod, node in placed if pod in own))


def _position(body: Any) -> tuple[str, int]:
    return body["metadata"]["name"], int(body["positionInClusterQueue"])


def _placed(body: Any) -> tuple[str, str]:
    """Return the pod and the node of the event `Successfully assigned NAMESPACE/POD to NODE`."""
    return body["involvedObject"]["name"], str(body["message"]).rpartition(" ")[2]


def review_of(snapshot: Snapshot) -> JobReview:
    """Return the job as a preview that creates it, for the arithmetic of `review`."""
    job = {} if snapshot.job is None else snapshot.job
    gang = [{"apiVersion": QUEUE_API, "kind": "PodGroup", **snapshot.gang}] if snapshot.gang else []
    steps = [
        Step(
            "create",
            str(index),
            f"kubernetes:{body.get('apiVersion')}:{body.get('kind')}",
            name_of(body),
            new=State(body),
        )
        for index, body in enumerate((job, *(gang if snapshot.admission == defaults.VOLCANO else ())))
    ]
    return JobReview(snapshot.target.experiment, None, steps[0], None, snapshot.record, tuple(steps))
