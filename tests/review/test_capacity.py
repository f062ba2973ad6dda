"""Whether the pods fit: now, when others finish, or never."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.capacity_cases import CLUSTER, NODES, big, judged, new_job
from tests.review.jobs_of_previews import (
    GPU,
    NAMESPACE,
    context,
    job_review,
    live_node,
    live_queue,
    rendered,
    workers,
)
from trainform.review.capacity import NOT_RESERVED, capacity_of
from trainform.review.not_considered import not_considered


def test_an_unchanged_job_needs_no_room() -> None:
    job = rendered(CLUSTER, **workers(2))
    capacity = judged(job_review(job, job))
    assert (capacity.verdict, capacity.basis) == ("unchanged", "none")


def test_an_update_that_leaves_the_pods_alone_needs_no_room() -> None:
    before, after = rendered(CLUSTER, **workers(4)), rendered(CLUSTER, **workers(4), labels={"team": "vision"})
    assert judged(job_review(before, after, "update")).verdict == "unchanged"
    more = job_review(before, rendered(CLUSTER, **workers(5)), "update")
    assert judged(more, *NODES).verdict == "never"


def test_pods_that_fit_now() -> None:
    capacity = judged(new_job(**workers(4)), *NODES)
    assert (capacity.verdict, capacity.basis, capacity.shortages) == ("now", "cluster", [])
    assert capacity.sentence == f"All 4 pods of the gang (32 a800) fit on the nodes now. {NOT_RESERVED}"


def test_pods_that_fit_when_others_finish() -> None:
    busy = live_node("node-3", {"team-b/bert-77aa01": 4, "team-c/vit-010203": 1})
    capacity = judged(new_job(**workers(4)), *NODES[:3], busy)
    assert capacity.verdict == "later"
    assert (
        capacity.sentence
        == f"1 pod of the gang finds no room on the nodes now: 8 a800 missing until others finish. {NOT_RESERVED}"
    )
    (shortage,) = capacity.shortages
    assert (shortage.resource, shortage.asked, shortage.available, shortage.missing) == ("a800", "32", "24", "8")
    assert shortage.holders == ["team-b/bert-77aa01: 4", "team-c/vit-010203: 1"]


def test_pods_that_are_added_to_a_gang_that_runs() -> None:
    """The gang has its room already; what is added waits where others hold the rest."""
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    before, after = (rendered(CLUSTER, **workers(count, 1), launcher=elastic) for count in (4, 8))
    own = live_node("node-0", {f"{NAMESPACE}/{before.plan.job}": 4, "team-b/bert-77aa01": 4})
    full = [live_node(f"node-{index}", {"team-c/vit-010203": 8}) for index in (1, 2, 3)]
    capacity = judged(job_review(before, after, "update"), own, *full)
    assert capacity.verdict == "later"
    assert capacity.sentence == (
        f"The gang fits, and 4 of all 8 pods find no room on the nodes now: 4 a800 missing until others finish. {NOT_RESERVED}"
    )
    assert judged(job_review(before, after, "update"), own, *NODES[1:]).verdict == "now"


def test_what_the_replaced_job_holds_is_free() -> None:
    before, after = rendered(CLUSTER, **workers(4)), rendered(CLUSTER, **workers(4), env={"NCCL_DEBUG": "INFO"})
    own = f"{NAMESPACE}/{before.plan.job}"
    nodes = [live_node(f"node-{index}", {own: 8}) for index in range(4)]
    assert judged(job_review(before, after), *nodes).verdict == "now"
    assert judged(new_job(**workers(4)), *[live_node("a", {"team-b/x-1": 8}), *nodes[1:]]).verdict == "later"


def test_a_cordoned_node_takes_no_pods_and_counts_for_what_is_kept_for_others() -> None:
    """Volcano's shares are of all nodes: 16 are kept of 32, and the queue may hold the others."""
    cordoned = structs.replace(NODES[3], open=False)
    queues = {"queues": (live_queue("default"),), "other_queues": (big(),)}
    assert judged(new_job(**workers(2)), *NODES[:3], cordoned, **queues).verdict == "now"
    assert judged(new_job(**workers(4)), *NODES[:3], cordoned).verdict == "never"


def test_a_pod_larger_than_any_node_never_fits() -> None:
    small = [
        live_node("node-0", allocatable={"cpu": "96", "memory": "1Ti", GPU: "4", "pods": "110"}),
    ]
    capacity = judged(new_job(**workers(1)), *small)
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith(
        "A pod of worker asks for 8 a800, and none of the nodes of the cluster that take pods has more than 4 a800."
    )
    assert [shortage.missing for shortage in capacity.shortages] == ["4"]


def test_more_pods_than_all_nodes_hold_never_fit() -> None:
    capacity = judged(new_job(**workers(5)), *NODES)
    assert (capacity.verdict, capacity.shortages[0].missing) == ("never", "8")
    two_roles = {
        "roles": {
            "master": {"replicas": 1, "accelerators": {"a800": 8}},
            "worker": {"replicas": 4, "accelerators": {"a800": 8}},
        }
    }
    assert judged(new_job(**two_roles), *NODES).verdict == "never"


TAINT = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node", "role", "verdict"),
    [
        ({"labels": {"pool": "fast"}}, {"node_selector": {"pool": "fast"}}, "now"),
        ({"labels": {"pool": "slow"}}, {"node_selector": {"pool": "fast"}}, "never"),
        ({"taints": (TAINT,)}, {}, "never"),
        ({"taints": ({**TAINT, "effect": "PreferNoSchedule"},)}, {}, "now"),
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Exists"}]}, "now"),
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Equal", "value": "cpu"}]}, "never"),
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoExecute"}]}, "never"),
    ],
)  # fmt: skip
def test_selectors_and_taints_decide(node: dict[str, Any], role: dict[str, Any], verdict: str) -> None:
    capacity = judged(new_job(**workers(1, **role)), live_node("node-0", **node))
    assert capacity.verdict == verdict


def test_a_node_affinity_is_not_considered() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["slow"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    job = new_job(**workers(1, pod_overrides={"spec": {"affinity": {"nodeAffinity": required}}}))
    assert judged(job, live_node("node-0", labels={"pool": "fast"})).verdict == "now"
    assert [*not_considered(context(job, environment=CLUSTER))] == [
        "The node affinity of the pods of worker was not considered, so they may find less room.",
    ]


def test_without_the_size_of_nodes_room_is_not_known() -> None:
    unsized = {name: kind.model_copy(update={"nodes": None}) for name, kind in CLUSTER.accelerators.items()}
    where = CLUSTER.model_copy(update={"accelerators": unsized})
    assert capacity_of(context(new_job(**workers(99)), environment=where)).basis == "none"
    assert capacity_of(context(new_job(**workers(99)), environment=CLUSTER)).verdict == "never"


def test_a_host_port_lets_one_pod_on_a_node() -> None:
    parts = {**workers(2, 1), "network": {"host": True}}
    assert judged(new_job(**parts), NODES[0]).verdict == "never"
    assert judged(new_job(**parts), *NODES[:2]).verdict == "now"


# --- without a cluster


def test_against_the_environments_file() -> None:
    capacity = capacity_of(context(new_job(**workers(8)), environment=CLUSTER))
    assert (capacity.verdict, capacity.basis) == ("unknown", "environment")
    assert "fit on the nodes of the environment's file; what is free of it now is not known" in capacity.sentence
    capacity = capacity_of(context(new_job(**workers(9)), environment=CLUSTER))
    assert (capacity.verdict, capacity.basis) == ("never", "environment")


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "kubedl", "jobset"])
def test_the_pods_of_every_operator(backend: str) -> None:
    roles = {
        "roles": {"worker": {"replicas": 4, "accelerators": {"a800": 8}}},
        "launcher": {"torchrun": {"script": "/app/train.py"}},
    }
    job = new_job(**roles, backend=backend)
    assert judged(job, *NODES).verdict == "now"
    assert judged(job, *NODES[:3]).verdict == "never"
