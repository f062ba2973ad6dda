"""How a job was evicted, by Kueue or by a scheduler."""

from __future__ import annotations

from msgspec import structs

from tests.review.jobs_of_previews import BERT, NAMESPACE, NODES, live_node
from tests.running.waiting_jobs import (
    EMPTY,
    OF_KUEUE,
    RESERVED,
    condition,
    event,
    facts,
    kueue,
    made,
    placed,
    pods_of,
    snapshot,
    workload,
)
from trainform.running.waiting import preemption

JOB = made()
PREEMPTED = (
    "Preempted to accommodate a workload (UID: 11cc, JobUID: 77aa) due to prioritization in the ClusterQueue; "
    "preemptor path: /research; preemptee path: /research"
)


def test_kueue_names_the_job_that_took_the_room() -> None:
    evicted = condition("Evicted", "True", "Preempted", PREEMPTED, "2026-11-27T14:02:10Z")
    given = snapshot(OF_KUEUE, gang=workload(OF_KUEUE, RESERVED, evicted), queue=EMPTY)
    assert preemption(given, facts(*NODES, kueue=kueue())) == "preempted at 14:02 UTC by team-b/eval"
    assert preemption(given) == f"evicted at 14:02 UTC by Kueue: {PREEMPTED}"
    other = condition("Evicted", "True", "Deactivated", "The workload is deactivated", "2026-11-26T14:02:10Z")
    stopped = preemption(structs.replace(given, gang=workload(OF_KUEUE, other)))
    assert stopped == "evicted at 2026-11-26 14:02 UTC by Kueue: The workload is deactivated"
    again = condition("Evicted", "False", "QuotaReserved", "Previously: preempted")
    assert preemption(structs.replace(given, gang=workload(OF_KUEUE, again))) == ""


def test_volcano_names_the_jobs_that_run_on_the_nodes_now() -> None:
    at = "2026-11-27T14:02:10Z"
    given = snapshot(JOB, pods=pods_of(JOB))
    evicted = event(given.pods[0], "Evict", "Pod is evicted, because of preempt", at)
    given = structs.replace(given, events=[evicted])
    own = f"{NAMESPACE}/{JOB.plan.job}"
    held = [live_node("node-0", {BERT: 8}), live_node("node-1", {own: 8}), live_node("node-2", {"team-c/vit": 8})]
    now = preemption(given, facts(*held, nodes=frozenset({"node-0", "node-1"})))
    assert now == f"preempted at 14:02 UTC; its nodes now run {BERT}"
    assert preemption(given) == "preempted at 14:02 UTC"
    runs = placed(given.pods[0])
    runs["status"]["startTime"] = "2026-11-27T14:03:00Z"
    assert preemption(structs.replace(given, pods=[runs])) == "", "it has started again"
    assert preemption(snapshot(JOB)) == ""
