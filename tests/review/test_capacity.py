"""Whether the pods of a preview fit: now, when others finish, or never."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import suspended
from tests.review.jobs_of_previews import (
    BERT,
    GPU,
    NAMESPACE,
    NODES,
    ROOM,
    context,
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
from trainform.cluster.facts import NO_HOLDERS
from trainform.review.capacity import capacity_of
from trainform.review.report import build_report

ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}


def test_pods_that_fit_now() -> None:
    capacity = judged(new_job(**workers(4)), *NODES)
    assert (capacity.verdict, capacity.basis, capacity.shortages, capacity.clause) == ("now", "cluster", [], "")
    assert capacity.sentence == "Fits now: 4 pods, 32 a800."
    (role,) = capacity.roles
    assert [*role.model_dump().values()] == ["worker", 4, 4, 4, "a800", "8"]


def test_pods_that_fit_when_others_finish() -> None:
    busy = live_node("node-3", {BERT: 4, "team-c/vit-010203": 1})
    capacity = judged(new_job(**workers(4)), *NODES[:3], busy)
    clause = "waits for 5 a800 held by team-b/bert-77aa01 and team-c/vit-010203"
    assert (capacity.verdict, capacity.clause) == ("later", clause)
    assert capacity.sentence == (f"W{clause[1:]}: the nodes have room for 27 a800 now, and the job needs 32 a800.")
    (shortage,) = capacity.shortages
    assert (shortage.resource, shortage.asked, shortage.available, shortage.missing) == ("a800", "32", "27", "5")
    assert shortage.holders == ["team-b/bert-77aa01: 4", "team-c/vit-010203: 1"]
    assert [(role.fit, role.nodes) for role in capacity.roles] == [(3, 3)]


@pytest.mark.parametrize(("before", "after"), [({}, {}), ({}, {"labels": {"team": "vision"}})])
def test_a_job_that_keeps_its_pods_needs_no_room(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = (rendered(ROOM, **workers(2), **parts) for parts in (before, after))
    capacity = judged(job_review(old, new))
    assert (capacity.verdict, capacity.basis, capacity.clause) == ("unchanged", "none", "")


def test_pods_that_are_added_to_a_gang() -> None:
    before, after = (rendered(ROOM, **workers(count, 1), launcher=ELASTIC) for count in (4, 8))
    own = live_node("node-0", {f"{NAMESPACE}/{before.plan.job}": 4, BERT: 4})
    full = [live_node(f"node-{index}", {"team-c/vit-010203": 8}) for index in (1, 2, 3)]
    capacity = judged(job_review(before, after), own, *full)
    held = "4 a800 held by team-c/vit-010203 and team-b/bert-77aa01"
    assert (capacity.verdict, capacity.clause) == ("later", f"gets its new pods later: they wait for {held}")
    assert judged(job_review(before, after), own, *NODES[1:]).verdict == "now"
    other = rendered(ROOM, **workers(8, 1), launcher=ELASTIC, env={"A": "B"})
    anew = judged(job_review(before, other), own, *full)
    assert anew.clause == f"starts with a part of its pods; the others wait for {held}"


def test_a_resumed_job_needs_room_and_a_suspended_one_none() -> None:
    before = rendered(ROOM, backend="jobset", **workers(4))
    after, full = suspended(before), [*NODES[:3], live_node("node-3", {BERT: 8})]
    assert judged(job_review(before, after), *full).verdict == "unchanged"
    assert judged(job_review(None, after), *full).verdict == "unchanged"
    capacity = judged(job_review(after, before), *full)
    assert (capacity.verdict, capacity.clause) == ("later", f"waits for 8 a800 held by {BERT}")
    assert judged(job_review(after, before), *NODES).verdict == "now"


def test_an_elastic_job_that_grows_beyond_its_queue() -> None:
    before, after = (rendered(ROOM, **workers(count, 1), launcher=ELASTIC, queue="night") for count in (2, 4))
    small = (live_queue("night", {GPU: "3"}),)
    scaled = judged(job_review(before, after), *NODES, queues=small)
    why = "the queue night may hold 3 a800, and all its pods need 4 a800"
    assert (scaled.verdict, scaled.clause) == ("later", f"gets only a part of its new pods: {why}")
    anew = judged(job_review(None, after), *NODES, queues=small)
    assert anew.clause == f"starts with a part of its pods: {why}"
    held = (live_queue("night", {GPU: "4"}, bert_77aa01=1),)
    others = judged(job_review(before, after), *NODES, queues=held)
    assert others.clause == "gets its new pods later: they wait for 1 a800 held by team-b/bert-77aa01"


def test_the_room_of_jobs_that_end_is_free() -> None:
    before, after = rendered(ROOM, **workers(4)), rendered(ROOM, **workers(4), env={"NCCL_DEBUG": "INFO"})
    nodes = [live_node(f"node-{index}", {f"{NAMESPACE}/{before.plan.job}": 8}) for index in range(4)]
    assert judged(job_review(before, after), *nodes).verdict == "now"
    assert judged(new_job(**workers(4)), live_node("a", {BERT: 8}), *nodes[1:]).verdict == "later"
    renamed = context(job_review(before, None), new_job(**workers(4)), live=live(nodes=tuple(nodes)))
    assert capacity_of(renamed).verdict == "now"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "the nodes of the cluster were not read"),
        (live(nodes=None, not_read={NO_HOLDERS: "this account may not list pods"}), "this account may not list pods"),
    ],
)
def test_without_nodes_the_room_is_unknown(facts: Any, reason: str) -> None:
    capacity = capacity_of(context(new_job(**workers(99)), environment=ROOM, live=facts))
    assert (capacity.verdict, capacity.basis) == ("unknown", "none")
    assert capacity.sentence == f"It is unknown whether the pods fit: {reason}."


# --- who gives way


def test_a_higher_priority_may_take_the_room() -> None:
    job = new_job(**workers(4), queue="night", priority_class="urgent")
    queues = (live_queue("night", {GPU: "32"}, bert_77aa01=8, vit_010203=8),)
    capacity = judged(job, *NODES, queues=queues, priorities={BERT: 100, "team-b/vit-010203": 2000})
    assert capacity.shortages[0].evicts == [BERT]
    assert capacity.sentence.endswith(f" A scheduler with the action `preempt` or `reclaim` may evict {BERT}.")


def test_a_queue_may_take_back_its_share() -> None:
    """Of 32 a800 night and day have 16 each."""
    busy = [live_node(f"node-{index}", {BERT: 8}) for index in (1, 2, 3)]
    day = live_queue("day", bert_77aa01=24)
    kept = structs.replace(day, reclaimable=False)
    for replicas, other, evicts in ((2, day, [BERT]), (2, kept, []), (3, day, [])):
        job = new_job(**workers(replicas), queue="night")
        capacity = judged(job, NODES[0], *busy, queues=(live_queue("night"), other))
        assert (capacity.verdict, capacity.shortages[0].evicts) == ("later", evicts)


# --- several stacks of one review


def test_a_queue_that_the_same_review_makes_smaller() -> None:
    smaller = queue_step("night", {"capability": {GPU: "32"}}, {"capability": {GPU: "16"}})
    platform = context(steps=(smaller,), environment=ROOM)
    queues = (live_queue("night", {GPU: "32"}),)
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=queues, earlier=(platform,))
    assert capacity.clause == "never starts: the queue night may hold 16 a800, and the job needs 32 a800"


def test_jobs_that_the_same_review_starts_before_take_their_room() -> None:
    first = reviewed(new_job("clip", **workers(2)), *NODES)
    name = first.jobs[0].after.job  # type: ignore[union-attr]
    assert judged(new_job(**workers(3)), *NODES, earlier=(first,)).clause == f"waits for 8 a800 held by {name}"
    assert judged(new_job(**workers(2)), *NODES, earlier=(first,)).verdict == "now"
    busy = [live_node(f"node-{index}", {f"{NAMESPACE}/bert": 8}) for index in range(2)]
    waits = reviewed(new_job("waits", **workers(4)), *NODES[:2], *busy)  # takes what is free next
    assert judged(new_job(**workers(1)), *NODES[:2], *busy, earlier=(waits,)).verdict == "later"
    large = reviewed(new_job("large", **workers(5)), *NODES)  # never starts, so it takes nothing
    assert judged(new_job(**workers(4)), *NODES, earlier=(large,)).verdict == "now"


def test_a_job_that_waits_already_may_take_the_room() -> None:
    """One that fits next to the job, or not even alone, takes nothing from it."""
    for requested, ahead in ((24, True), (8, True), (0, False), (40, False)):
        waiting = {f"{NAMESPACE}/clip-77aa01": {GPU: str(requested)}}
        made = reviewed(new_job(**workers(4)), *NODES, waiting=waiting)
        capacity = capacity_of(made)
        assert (capacity.verdict, capacity.clause) == ("now", "may wait behind clip-77aa01" if ahead else "")
        assert ("TR-CAPACITY-2" in {finding.code for finding in build_report(made).findings}) == ahead
    assert judged(new_job(**workers(3)), *NODES, waiting={f"{NAMESPACE}/clip-77aa01": {GPU: "8"}}).clause == ""


def test_jobs_that_the_same_review_ends_before_leave_their_room() -> None:
    old = rendered(ROOM, **workers(4), name="clip")
    full = [live_node(f"node-{index}", {f"{NAMESPACE}/{old.plan.job}": 8}) for index in range(4)]
    first = reviewed(job_review(old, None), *full)
    assert judged(new_job(**workers(4)), *full).verdict == "later"
    assert judged(new_job(**workers(4)), *full, earlier=(first,)).verdict == "now"
