"""Limits of pods except nodes: Volcano's queues, the quotas of namespaces, Kueue's queues."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs_of_previews import (
    BERT,
    GPU,
    NAMESPACE,
    NODES,
    ROOM,
    context,
    environment,
    job_review,
    judged,
    live,
    live_node,
    live_queue,
    new_job,
    queue_step,
    rendered,
    reviewed,
    workers,
)
from trainform.cluster.facts import NO_HOLDERS, LiveClusterQueue, LiveKueue, LiveQuota
from trainform.console.lines import UNKNOWN as UNKNOWN_VALUE
from trainform.review import steps
from trainform.review.capacity import capacity_of
from trainform.review.context import Context
from trainform.review.job_objects import queue_of
from trainform.review.preview import State
from trainform.review.report import build_report

# --- Volcano's queues, and quotas of the namespace

HOLDER = f"{NAMESPACE}/bert-77aa01"
WIDER = queue_step("night", {"capability": {GPU: "24"}}, {"capability": {GPU: "32"}})
PATCHED = queue_step("night", {"weight": 1}, {"weight": 2}, "QueuePatch")
TEAM = (
    live_queue("team", {GPU: "24"}),
    structs.replace(live_queue("day", bert_77aa01=8), parent="team"),
)
BELOW = (structs.replace(live_queue("night"), parent="team"),)
UNKNOWN = {NO_HOLDERS: "this account may not list pod groups"}


def night(capability: int, **holders: int) -> tuple[Any, ...]:
    return (live_queue("night", {GPU: str(capability)}, **holders),)


def test_the_name_of_a_jobs_own_new_queue_is_known_only_at_up() -> None:
    """The preview has the queue, and the job's field `queue` is an output of it."""
    job = new_job(**workers(2), queue={"weight": 1, "capability": {"a800": 16}})
    assert job.job is not None
    assert job.job.new is not None
    spec = {**job.job.new.inputs["spec"], "queue": UNKNOWN_VALUE}
    unknown = structs.replace(job.job, new=State({**job.job.new.inputs, "spec": spec}, provider=job.job.new.provider))
    job = dataclasses.replace(job, job=unknown, steps=(*(each for each in job.steps if each != job.job), unknown))
    full = live_queue("default", {GPU: "8"}, bert_77aa01=8)
    assert capacity_of(reviewed(job, *NODES, queues=(full,))).verdict == "now"
    assert queue_of(job, after=True) == next(steps.name(step) for step in steps.of_kind(job.steps, steps.QUEUE))


def quota(hard: dict[str, str], **parts: Any) -> dict[str, tuple[LiveQuota, ...]]:
    return {NAMESPACE: (LiveQuota(NAMESPACE, "team", hard, **{"holders": {}, **parts}),)}


@pytest.mark.parametrize(
    ("replicas", "parts", "verdict", "words"),
    [
        (4, {"queues": night(24)}, "never", "the queue night may hold 24 a800, and the job needs 32 a800"),
        (4, {"queues": night(40, bert_77aa01=8)}, "now", ""),
        (4, {"queues": night(32, bert_77aa01=8)}, "later", "the queue night has 24 of 32 a800 left"),
        (4, {"queues": night(24), "steps": (WIDER,)}, "now", ""),
        (4, {"queues": night(24), "steps": (PATCHED,)}, "never", "the queue night may hold 24 a800"),
        (2, {"queues": (*BELOW, *TEAM)}, "now", ""),
        (3, {"queues": (*BELOW, *TEAM)}, "later", "the queue team has 16 of 24 a800 left"),
        (4, {"queues": (*BELOW, *TEAM)}, "never", "the queue team may hold 24 a800"),
        (
            4,
            {"queues": night(32), "not_read": UNKNOWN},
            "unknown",
            "was not read (this account may not list pod groups",
        ),
        (5, {"queues": night(32), "not_read": UNKNOWN}, "never", "the queue night may hold 32 a800"),
        (4, {"quotas": quota({f"requests.{GPU}": "32"})}, "now", ""),
        (
            4,
            {"quotas": quota({f"requests.{GPU}": "24"})},
            "never",
            f"the ResourceQuota team of the namespace {NAMESPACE} may hold 24 a800, and the job needs 32 a800",
        ),
        (
            4,
            {"quotas": quota({f"requests.{GPU}": "32"}, holders={HOLDER: {GPU: "8"}})},
            "later",
            "Waits for 8 a800 held by bert-77aa01",
        ),
        (4, {"quotas": quota({"count/pods": "3"})}, "never", "may hold 3 pods"),
        (4, {"quotas": quota({"count/pods": "4", "pods": "4"})}, "now", ""),
        (4, {"quotas": quota({"cpu": "64", "requests.memory": "1Ti"})}, "now", ""),
        (4, {"quotas": quota({"requests.cpu": "31", "cpu": "32"})}, "never", "may hold 31 cpu"),
        (4, {"quotas": quota({"configmaps": "1"})}, "now", ""),
        (4, {"quotas": quota({"limits.cpu": "64"})}, "now", ""),
        (4, {"quotas": quota({"limits.cpu": "63"})}, "never", "may hold 63 limits.cpu, and the job needs 64"),
        (4, {"quotas": quota({"limits.memory": "1Gi"})}, "now", ""),
    ],
)
def test_queues_and_quotas(replicas: int, parts: dict[str, Any], verdict: str, words: str) -> None:
    amounts = {"spec": {"containers": {"main": {"resources": {"requests": {"cpu": "8", "memory": "64Gi"}}}}}}
    roles = workers(replicas, pod_overrides=amounts, cpu={"request": 1, "limit": 16})
    job = new_job(**roles, queue="night")
    capacity = judged(job, *NODES, **parts)
    assert capacity.verdict == verdict
    assert words in capacity.sentence


def test_the_shortage_of_a_queue() -> None:
    job = new_job(**workers(4), queue="night")
    capacity = judged(job, *NODES, queues=night(32, bert_77aa01=8), priorities={BERT: 100})
    holders = ["team-b/bert-77aa01: 8 (queue night, priority 100)"]
    assert [*capacity.shortages[0].model_dump().values()] == ["a800", "32", "24", "8", holders, []]
    full = [*NODES[:3], live_node("node-3", {HOLDER: 8})]
    limited = quota({f"requests.{GPU}": "32"}, holders={HOLDER: {GPU: "8"}})
    assert len(judged(job, *full, quotas=limited).shortages) == 1, "of node and quota"


def test_the_part_of_a_quota_that_the_replaced_job_holds_is_free() -> None:
    before, after = (rendered(ROOM, **workers(4), env=env) for env in ({}, {"A": "B"}))
    own = {f"{NAMESPACE}/{before.plan.job}": {GPU: "32", "pods": "4"}}
    for old, holders, verdict in ((before, own, "now"), (None, own, "later"), (before, None, "unknown")):
        limited = quota({f"requests.{GPU}": "32"}, holders=holders)
        assert judged(job_review(old, after), *NODES, quotas=limited).verdict == verdict


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
    ],
)
def test_a_cluster_queue_of_kueue(queues: list[LiveClusterQueue], verdict: str) -> None:
    capacity = capacity_of(on_kueue(*queues))
    assert capacity.verdict == verdict, capacity.sentence
    if verdict == "later":
        assert capacity.clause == "waits for 8 a800 held by team-b/bert-77aa01"


def test_a_queue_of_kueue_that_is_stopped() -> None:
    capacity = capacity_of(on_kueue(cluster_queue("research", 32, held=8, stopped="HoldAndDrain")))
    assert capacity.verdict == "later"
    assert capacity.clause == "waits: the ClusterQueue research admits nothing (`stopPolicy: HoldAndDrain`)"
    local = capacity_of(on_kueue(cluster_queue("research", 32), stopped="Hold"))
    assert local.sentence == f"Waits: the LocalQueue {NAMESPACE}/team admits nothing (`stopPolicy: Hold`)."
    assert capacity_of(on_kueue(cluster_queue("research", 24, stopped="Hold"))).verdict == "never"


def test_a_job_without_admission_waits_in_no_queue() -> None:
    """Volcano's queue `default` is full, and other jobs are in it."""
    alone = environment(admission="none", backend="jobset", queues={})
    job = job_review(None, rendered(alone, **workers(4), launcher={"torchrun": {"script": "/app/train.py"}}))
    full = live(nodes=tuple(NODES), queues=(live_queue("default", {GPU: "1"}),))
    assert capacity_of(context(job, environment=alone, live=full)).verdict == "now"


# --- what is not judged


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (reviewed(new_job(**workers(4), queue="night"), *NODES, quotas=quota({"pods": "1"}, scoped=True)), ""),
        (on_kueue(cluster_queue("research", 32), local="other"), "its ClusterQueue was not found"),
        (on_kueue(cluster_queue("research", 32, "all", nested=True)), "the cohort all has more limits"),
        (on_kueue(cluster_queue("research", 32)), ""),
    ],
)
def test_a_limit_that_is_not_judged_leaves_it_unknown_whether_the_pods_fit(made: Context, reason: str) -> None:
    capacity = capacity_of(made)
    assert capacity.verdict == ("unknown" if reason else "now")
    assert capacity.reason == (f"the LocalQueue {NAMESPACE}/team is not judged: {reason}" if reason else "")
    assert ("capacity" in {part.what for part in build_report(made).not_checked}) == bool(reason)
