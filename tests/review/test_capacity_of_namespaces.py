"""Whether the pods fit the quotas and limit ranges of their namespace."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.capacity_cases import CLUSTER, NODES, judged, new_job
from tests.review.jobs_of_previews import (
    GPU,
    NAMESPACE,
    context,
    job_review,
    live,
    live_node,
    rendered,
    workers,
)
from trainform.cluster.facts import LiveQuota, LiveRange
from trainform.review.capacity import capacity_of
from trainform.review.not_considered import not_considered

# --- quotas and limit ranges of the namespace


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **more: Any) -> dict[str, tuple[LiveQuota, ...]]:
    return {NAMESPACE: (LiveQuota(NAMESPACE, "team", hard, {} if used is None else used, **more),)}


def test_a_gang_larger_than_the_quota_never_fits() -> None:
    capacity = judged(new_job(**workers(4)), *NODES, quotas=quota({f"requests.{GPU}": "24"}))
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith(
        f"The ResourceQuota team of the namespace {NAMESPACE} allows 24 a800, and the gang needs 32 a800 at once."
    )
    assert [(each.resource, each.missing) for each in capacity.shortages] == [("a800", "8")]


@pytest.mark.parametrize(
    ("hard", "verdict"),
    [
        ({f"requests.{GPU}": "32"}, "now"),
        ({"pods": "3"}, "never"),
        ({"count/pods": "3"}, "never"),
        ({"count/pods": "4", "pods": "4"}, "now"),
        ({"cpu": "64", "requests.memory": "1Ti"}, "now"),
        ({"requests.cpu": "31"}, "never"),
        ({"limits.cpu": "32"}, "now"),
        ({"limits.cpu": "31"}, "never"),
        ({"configmaps": "1"}, "now"),
    ],
)
def test_the_resources_of_pods_in_a_quota(hard: dict[str, str], verdict: str) -> None:
    amounts = {"cpu": "8", "memory": "64Gi"}
    patch = {"spec": {"containers": {"main": {"resources": {"requests": amounts, "limits": amounts}}}}}
    job = new_job(**workers(4, pod_overrides=patch))
    assert judged(job, *NODES, quotas=quota(hard)).verdict == verdict


def test_a_quota_of_which_others_hold_a_part() -> None:
    held = {f"{NAMESPACE}/bert-77aa01": {GPU: "8", "pods": "1"}}
    used = {f"requests.{GPU}": "8"}
    capacity = judged(new_job(**workers(4)), *NODES, quotas=quota({f"requests.{GPU}": "32"}, used, holders=held))
    assert capacity.verdict == "later"
    assert capacity.sentence.startswith(
        f"The ResourceQuota team of the namespace {NAMESPACE} has 24 a800 left, and the gang needs 32 a800 at once: "
        "it waits"
    )
    assert capacity.shortages[0].holders == [f"{NAMESPACE}/bert-77aa01: 8"]


def test_what_two_of_them_lack_in_the_same_way_is_told_once() -> None:
    holder = f"{NAMESPACE}/bert-77aa01"
    held = {holder: {GPU: "8", "pods": "1"}}
    limited = quota({f"requests.{GPU}": "32"}, {f"requests.{GPU}": "8"}, holders=held)
    capacity = judged(new_job(**workers(4)), *NODES[:3], live_node("node-3", {holder: 8}), quotas=limited)
    assert [(each.missing, each.holders) for each in capacity.shortages] == [("8", [f"{holder}: 8"])]


def test_what_the_replaced_job_has_of_a_quota_is_free() -> None:
    amounts = {"cpu": "8", "memory": "64Gi"}
    patch = {"spec": {"containers": {"main": {"resources": {"requests": amounts, "limits": amounts}}}}}
    before = rendered(CLUSTER, **workers(4, pod_overrides=patch))
    after = rendered(CLUSTER, **workers(4, pod_overrides=patch), env={"NCCL_DEBUG": "INFO"})
    hard = {f"requests.{GPU}": "32", "limits.cpu": "32"}
    own = {f"{NAMESPACE}/{before.plan.job}": {GPU: "32", "pods": "4"}}
    assert judged(job_review(before, after), *NODES, quotas=quota(hard, hard, holders=own)).verdict == "now"
    assert judged(job_review(None, after), *NODES, quotas=quota(hard, hard, holders={})).verdict == "later"
    # nobody knows how much of it is the job's own
    assert judged(job_review(before, after), *NODES, quotas=quota(hard, hard)).verdict == "now"


def test_a_quota_refuses_containers_that_do_not_say_what_they_take() -> None:
    capacity = judged(new_job(**workers(1)), *NODES, quotas=quota({"limits.cpu": "400", f"requests.{GPU}": "32"}))
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith(
        f"The ResourceQuota team of the namespace {NAMESPACE} refuses the pods of worker: the container main does "
        "not say its limits.cpu."
    )
    filled = limit_range({"type": "Container", "default": {"cpu": "8"}})
    assert judged(new_job(**workers(1)), *NODES, quotas=quota({"limits.cpu": "400"}), ranges=filled).verdict == "now"


def test_a_quota_of_some_pods_is_said_to_be_left_out() -> None:
    made = context(new_job(**workers(4)), live=live(nodes=tuple(NODES), quotas=quota({"pods": "1"}, scoped=True)))
    assert capacity_of(made).verdict == "now"
    assert [*not_considered(made)] == [
        f"The ResourceQuota team of the namespace {NAMESPACE} counts only some pods, and was not considered."
    ]


def limit_range(*items: dict[str, Any]) -> dict[str, tuple[LiveRange, ...]]:
    return {NAMESPACE: (LiveRange(NAMESPACE, "sizes", items),)}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"type": "Container", "max": {"cpu": "4"}},
            "a container at most 4 cpu, and the container main of worker has 8 cpu.",
        ),
        (
            {"type": "Container", "max": {"ephemeral-storage": "1Gi"}},
            "a container at most 1Gi ephemeral-storage, and the container main of worker has no limit of it.",
        ),
        (
            {"type": "Container", "min": {"cpu": "16"}},
            "a container no less than 16 cpu, and the container main of worker has 8 cpu.",
        ),
        ({"type": "Pod", "max": {"cpu": "4"}}, "a pod at most 4 cpu, and a pod of worker has 8 cpu."),
        ({"type": "Container", "max": {"cpu": "8"}, "min": {"cpu": "8"}}, ""),
        ({"type": "Pod", "max": {"cpu": "8"}}, ""),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, ""),
    ],
)
def test_pods_that_a_limit_range_refuses(item: dict[str, Any], said: str) -> None:
    patch = {"spec": {"containers": {"main": {"resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}}}}}
    capacity = judged(new_job(**workers(1, pod_overrides=patch)), *NODES, ranges=limit_range(item))
    if said:
        expected = f"The LimitRange sizes of the namespace {NAMESPACE} allows {said}"
        assert (capacity.verdict, capacity.sentence.startswith(expected)) == ("never", True), capacity.sentence
    else:
        assert capacity.verdict == "now"


def test_what_a_limit_range_fills_in_needs_room() -> None:
    filled = limit_range({"type": "Container", "defaultRequest": {"cpu": "97"}, "default": {"cpu": "97"}})
    assert judged(new_job(**workers(1)), *NODES, ranges=filled).verdict == "never"
    assert judged(new_job(**workers(1)), *NODES).verdict == "now"
