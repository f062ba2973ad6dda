"""Limits of pods besides nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs_of_previews import (
    GPU,
    NAMESPACE,
    context,
    environment,
    job_review,
    live,
    live_node,
    live_queue,
    queue_step,
    rendered,
    workers,
)
from tests.review.rooms import BERT, CLUSTER, NODES, judged, new_job, reviewed
from trainform.cluster.facts import NO_HOLDERS, LiveClusterQueue, LiveKueue, LiveQuota
from trainform.review.capacity import capacity_of, not_considered
from trainform.review.context import Context

# --- Volcano's queues

NIGHT = new_job(**workers(4), queue="night")  # 32 a800


def night(capability: int, **holders: int) -> tuple[Any, ...]:
    return (live_queue("night", {GPU: str(capability)}, **holders),)


def test_a_gang_larger_than_its_queue_never_starts() -> None:
    capacity = judged(NIGHT, *NODES, queues=night(24))
    assert capacity.clause == "never starts: the queue night may hold 24 a800, and the job needs 32 a800"
    assert capacity.queue is not None
    assert [*capacity.queue.model_dump().values()] == ["night", "a800", 0, 32, 24]


def test_a_queue_in_which_others_hold_something() -> None:
    capacity = judged(NIGHT, *NODES, queues=night(32, bert_77aa01=8), priorities={BERT: 100})
    assert capacity.sentence == (
        "Waits for 8 a800 held by team-b/bert-77aa01: the queue night has 24 of 32 a800 left, and the job needs 32 "
        "a800."
    )
    assert capacity.shortages[0].model_dump() == {
        "resource": "a800",
        "asked": "32",
        "available": "24",
        "missing": "8",
        "holders": ["team-b/bert-77aa01: 8 (queue night, priority 100)"],
        "evicts": [],
    }
    assert (capacity.queue.held, capacity.queue.requested) == (8, 32)  # type: ignore[union-attr]
    assert judged(NIGHT, *NODES, queues=night(40, bert_77aa01=8)).verdict == "now"


@pytest.mark.parametrize(
    ("before", "after", "kind", "verdict"),
    [
        ({"capability": {GPU: "24"}}, {"capability": {GPU: "32"}}, "Queue", "now"),
        ({"weight": 1}, {"weight": 2}, "QueuePatch", "never"),
    ],
)
def test_the_queue_counts_as_the_preview_makes_it(before: Any, after: Any, kind: str, verdict: str) -> None:
    step = queue_step("night", before, after, kind)
    assert judged(NIGHT, *NODES, queues=night(24), steps=(step,)).verdict == verdict


def test_a_queue_above_limits_all_queues_below_it() -> None:
    below = structs.replace(live_queue("night"), parent="team")
    beside = structs.replace(live_queue("day", bert_77aa01=8), parent="team")
    queues = {"queues": (below,), "other_queues": (live_queue("team", {GPU: "24"}), beside)}
    capacity = judged(new_job(**workers(3), queue="night"), *NODES, **queues)
    assert capacity.clause == "waits for 8 a800 held by team-b/bert-77aa01"
    assert "the queue team has 16 of 24 a800 left" in capacity.sentence
    assert judged(new_job(**workers(2), queue="night"), *NODES, **queues).verdict == "now"
    assert judged(NIGHT, *NODES, **queues).verdict == "never"


def test_where_the_holders_are_unknown_the_room_in_the_queue_is_unknown() -> None:
    parts = {"queues": night(32), "not_read": {NO_HOLDERS: "this account may not list pod groups"}}
    capacity = judged(NIGHT, *NODES, **parts)
    assert (capacity.verdict, capacity.queue) == ("unknown", None)
    assert "the queue night was not read (this account may not list pod groups)" in capacity.sentence
    assert judged(new_job(**workers(5), queue="night"), *NODES, **parts).verdict == "never"


# --- quotas of the namespace


def quota(hard: dict[str, str], **parts: Any) -> dict[str, tuple[LiveQuota, ...]]:
    return {NAMESPACE: (LiveQuota(NAMESPACE, "team", hard, **{"holders": {}, **parts}),)}


def test_a_gang_larger_than_the_quota_never_starts() -> None:
    capacity = judged(new_job(**workers(4)), *NODES, quotas=quota({f"requests.{GPU}": "24"}))
    assert capacity.clause == (
        f"never starts: the ResourceQuota team of the namespace {NAMESPACE} may hold 24 a800, and the job needs 32 a800"
    )
    assert [(each.resource, each.missing) for each in capacity.shortages] == [("a800", "8")]


WITH_AMOUNTS = {"spec": {"containers": {"main": {"resources": {"requests": {"cpu": "8", "memory": "64Gi"}}}}}}


@pytest.mark.parametrize(
    ("hard", "verdict"),
    [
        ({f"requests.{GPU}": "32"}, "now"),
        ({"count/pods": "3"}, "never"),
        ({"count/pods": "4", "pods": "4"}, "now"),
        ({"cpu": "64", "requests.memory": "1Ti"}, "now"),
        ({"requests.cpu": "31", "cpu": "32"}, "never"),
        ({"configmaps": "1"}, "now"),
    ],
)
def test_the_resources_of_pods_in_a_quota(hard: dict[str, str], verdict: str) -> None:
    assert judged(new_job(**workers(4, pod_overrides=WITH_AMOUNTS)), *NODES, quotas=quota(hard)).verdict == verdict


def test_a_quota_of_which_others_hold_a_part() -> None:
    holder = f"{NAMESPACE}/bert-77aa01"
    limited = quota({f"requests.{GPU}": "32"}, holders={holder: {GPU: "8", "pods": "1"}})
    capacity = judged(new_job(**workers(4)), *NODES, quotas=limited)
    assert capacity.clause == "waits for 8 a800 held by bert-77aa01"
    assert "has 24 of 32 a800 left, and the job needs 32 a800" in capacity.sentence
    capacity = judged(new_job(**workers(4)), *NODES[:3], live_node("node-3", {holder: 8}), quotas=limited)
    assert [(each.missing, each.holders) for each in capacity.shortages] == [("8", [f"{holder}: 8"])]


def test_the_part_of_a_quota_that_the_replaced_job_holds_is_free() -> None:
    before, after = (rendered(CLUSTER, **workers(4), env=env) for env in ({}, {"A": "B"}))
    own = {f"{NAMESPACE}/{before.plan.job}": {GPU: "32", "pods": "4"}}
    full = {f"requests.{GPU}": "32"}
    assert judged(job_review(before, after), *NODES, quotas=quota(full, holders=own)).verdict == "now"
    assert judged(job_review(None, after), *NODES, quotas=quota(full, holders=own)).verdict == "later"
    assert judged(job_review(before, after), *NODES, quotas=quota(full, holders=None)).verdict == "unknown"


# --- Kueue's queues

KUEUE = environment(admission="kueue", backend="jobset", queues={})


def cluster_queue(name: str, nominal: int, cohort: str = "", held: int = 0, **more: Any) -> LiveClusterQueue:
    holders = {BERT: {GPU: str(held)}} if held else {}
    return LiveClusterQueue(name, {GPU: str(nominal)}, cohort, holders=holders, **more)


def on_kueue(*queues: LiveClusterQueue, local: str = "team", stopped: str = "") -> Context:
    launcher = {"torchrun": {"script": "/app/train.py"}}
    job = job_review(None, rendered(KUEUE, **workers(4), queue="team", launcher=launcher))
    policies = {f"{NAMESPACE}/team": stopped, f"{NAMESPACE}/other": "Hold"} if stopped else {}
    kueue = LiveKueue({f"{NAMESPACE}/{local}": "research"}, queues, policies)
    facts = live(nodes=tuple(NODES), kueue=kueue, queues=(live_queue("default", {GPU: "1"}),))
    return context(job, environment=KUEUE, live=facts)


@pytest.mark.parametrize(
    ("queues", "verdict"),
    [
        ([cluster_queue("research", 32)], "now"),
        ([cluster_queue("research", 24)], "never"),
        ([cluster_queue("research", 32, held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all")], "now"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all", held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "other")], "never"),
        ([cluster_queue("research", 16, "all", nested=True)], "now"),
    ],
)
def test_a_cluster_queue_of_kueue(queues: list[LiveClusterQueue], verdict: str) -> None:
    capacity = capacity_of(on_kueue(*queues))
    assert capacity.verdict == verdict, capacity.sentence
    if verdict == "later":
        assert capacity.clause == "waits for 8 a800 held by team-b/bert-77aa01"


def test_a_queue_of_kueue_that_is_stopped() -> None:
    capacity = capacity_of(on_kueue(cluster_queue("research", 32, stopped="HoldAndDrain")))
    assert (capacity.verdict, capacity.shortages) == ("later", [])
    assert capacity.clause == "waits: the ClusterQueue research admits nothing (`stopPolicy: HoldAndDrain`)"
    local = capacity_of(on_kueue(cluster_queue("research", 32), stopped="Hold"))
    assert local.sentence == f"Waits: the LocalQueue {NAMESPACE}/team admits nothing (`stopPolicy: Hold`)."
    assert capacity_of(on_kueue(cluster_queue("research", 24, stopped="Hold"))).verdict == "never"


# --- what is left out

GUARANTEED = structs.replace(live_queue("day"), guarantee={GPU: "8"})


@pytest.mark.parametrize(
    ("made", "ignored"),
    [
        (
            reviewed(new_job(**workers(4)), *NODES, quotas=quota({"pods": "1"}, scoped=True)),
            ["the ResourceQuota team, which counts only some pods"],
        ),
        (
            on_kueue(cluster_queue("research", 32), local="other"),
            [f"the LocalQueue {NAMESPACE}/team, whose ClusterQueue was not found"],
        ),
        (
            on_kueue(cluster_queue("research", 32, "all", nested=True)),
            ["the cohort all, which has quotas of its own or a parent"],
        ),
        (
            on_kueue(cluster_queue("research", 32, in_part=True)),
            ["flavors and borrowing limits of the ClusterQueue research"],
        ),
        (on_kueue(cluster_queue("research", 32)), []),
        (reviewed(NIGHT, *NODES, queues=(*night(32), GUARANTEED)), ["the `guarantee` of other queues: day"]),
    ],
)
def test_quotas_and_queues_that_are_not_considered(made: Context, ignored: list[str]) -> None:
    assert capacity_of(made).verdict == "now"
    assert [*not_considered(made)] == [f"Not considered: {each}." for each in ignored]
