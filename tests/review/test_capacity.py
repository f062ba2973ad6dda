"""Whether the pods fit: now, when others finish, or never."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

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
from trainform.review.capacity import NOT_RESERVED, capacity_of
from trainform.review.not_considered import not_considered
from trainform.review.placement import Group, Room, place
from trainform.review.report import build_report


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
        "The gang fits, and 4 of all 8 pods find no room on the nodes now: 4 a800 missing until others finish. "
        f"{NOT_RESERVED}"
    )
    assert judged(job_review(before, after, "update"), own, *NODES[1:]).verdict == "now"


def test_what_the_replaced_job_holds_is_free() -> None:
    before, after = rendered(CLUSTER, **workers(4)), rendered(CLUSTER, **workers(4), env={"NCCL_DEBUG": "INFO"})
    own = f"{NAMESPACE}/{before.plan.job}"
    nodes = [live_node(f"node-{index}", {own: 8}) for index in range(4)]
    assert judged(job_review(before, after), *nodes).verdict == "now"
    assert judged(new_job(**workers(4)), *[live_node("a", {"team-b/x-1": 8}), *nodes[1:]]).verdict == "later"


def test_what_a_job_holds_that_goes_with_the_same_preview_is_free() -> None:
    """An experiment under a new name."""
    old = job_review(rendered(CLUSTER, **workers(4), name="sd15-lora"), None, name="sd15-lora")
    own = f"{NAMESPACE}/{old.before.job if old.before else ''}"
    nodes = tuple(live_node(f"node-{index}", {own: 8}) for index in range(4))
    made = context(old, new_job(**workers(4)), environment=CLUSTER, live=live(nodes=nodes))
    assert capacity_of(made).verdict == "now"


def test_a_cordoned_node_takes_no_pods() -> None:
    cordoned = structs.replace(NODES[3], open=False)
    assert judged(new_job(**workers(4)), *NODES[:3], cordoned).verdict == "never"


def test_a_node_that_is_not_ready_takes_no_pods() -> None:
    """Kubernetes taints it, and Volcano looks at the taints alone."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    lost = structs.replace(NODES[3], taints=(taint,))
    assert judged(new_job(**workers(4)), *NODES[:3], lost).verdict == "never"
    assert judged(new_job(**workers(3)), *NODES[:3], lost).verdict == "now"


def test_what_belongs_to_a_node_never_ends() -> None:
    kept = live_node("node-3", requested={GPU: "1"})
    assert judged(new_job(**workers(4)), *NODES[:3], kept).verdict == "never"


def test_pods_are_counted_in_full_digits() -> None:
    capacity = judged(new_job(roles={"reader": {"replicas": 4000}}), *NODES)
    assert capacity.verdict == "never"
    assert "need 4000 pods at once" in capacity.sentence


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


def test_pods_that_take_more_than_half_a_node_never_share_one() -> None:
    two_roles = {
        "roles": {
            "master": {"replicas": 2, "accelerators": {"a800": 5}},
            "worker": {"replicas": 3, "accelerators": {"a800": 5}},
        }
    }
    assert judged(new_job(**two_roles), *NODES).verdict == "never"  # 25 of 32
    assert judged(new_job(**two_roles), *NODES, live_node("node-4")).verdict == "now"


@pytest.mark.parametrize(("cpu", "verdict"), [("96", "now"), ("97", "never")])
def test_processors_count_like_accelerators(cpu: str, verdict: str) -> None:
    assert judged(new_job(**workers(1, cpu=cpu)), *NODES).verdict == verdict


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
        (
            {"taints": (TAINT,)},
            {"tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoExecute"}]},
            "never",
        ),
    ],
)
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


def test_rules_between_pods_are_said_to_be_left_out() -> None:
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    patch = {"spec": {"affinity": anti, "topologySpreadConstraints": spread}}
    made = context(new_job(**workers(2, pod_overrides=patch)), environment=CLUSTER)
    assert [*not_considered(made)] == [
        "The pod anti-affinity of the pods of worker was not considered, so they may find less room.",
        "The topology spread of the pods of worker was not considered, so they may find less room.",
    ]
    assert {found.what for found in build_report(made).not_checked} >= {"capacity"}
    preferred = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}}
    loose = [{**spread[0], "whenUnsatisfiable": "ScheduleAnyway"}]
    patch = {"spec": {**preferred, "topologySpreadConstraints": loose}}
    assert not [*not_considered(context(new_job(**workers(2, pod_overrides=patch)), environment=CLUSTER))]


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


UNLISTED = "without accelerators, since the environment's file lists only nodes with them"


@pytest.mark.parametrize(
    ("trained", "said"),
    [
        ({}, f"It is not known whether there is room for 400 pods {UNLISTED}."),
        (
            {"accelerators": {"a800": 8}},
            "The only pod with accelerators (8 a800) fits on the nodes of the environment's file; what is free of "
            f"it now is not known, nor whether there is room for 400 pods {UNLISTED}. {NOT_RESERVED}",
        ),
    ],
)
def test_the_environments_file_says_nothing_of_nodes_without_accelerators(trained: dict[str, Any], said: str) -> None:
    roles = {"reader": {"replicas": 400}, **({"worker": {"replicas": 1, **trained}} if trained else {})}
    capacity = capacity_of(context(new_job(roles=roles), environment=CLUSTER))
    assert (capacity.verdict, capacity.basis, capacity.sentence) == ("unknown", "environment", said)


def test_the_environments_queue_by_kind_of_accelerator() -> None:
    assert capacity_of(context(new_job(**workers(4), queue="night"), environment=CLUSTER)).verdict == "unknown"
    assert capacity_of(context(new_job(**workers(5), queue="night"), environment=CLUSTER)).verdict == "never"


def test_a_kind_with_a_selector_of_its_own() -> None:
    assert capacity_of(context(new_job(**workers(4, 4, "l40s")), environment=CLUSTER)).verdict == "unknown"
    assert capacity_of(context(new_job(**workers(5, 4, "l40s")), environment=CLUSTER)).verdict == "never"


def test_without_cluster_and_environment_nothing_is_known() -> None:
    capacity = capacity_of(context(new_job(**workers(4))))
    assert (capacity.verdict, capacity.basis) == ("unknown", "none")


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "kubedl", "jobset"])
def test_the_pods_of_every_operator(backend: str) -> None:
    roles = {
        "roles": {"worker": {"replicas": 4, "accelerators": {"a800": 8}}},
        "launcher": {"torchrun": {"script": "/app/train.py"}},
    }
    job = new_job(**roles, backend=backend)
    assert judged(job, *NODES).verdict == "now"
    assert judged(job, *NODES[:3]).verdict == "never"


@pytest.mark.parametrize(
    ("ports", "left"), [(("9100/TCP", "9100/TCP"), 1), (("9100/TCP", "9101/TCP"), 0), (("", ""), 0)]
)
def test_pods_of_two_templates_with_one_port_need_two_nodes(ports: tuple[str, str], left: int) -> None:
    """Each replica with ports of its own is a template of its own."""
    groups = [Group("worker", 1, {"cpu": Decimal(1)}, {}, [], frozenset(filter(None, [port]))) for port in ports]
    rooms = [Room("node-1", {}, [], {"cpu": Decimal(8)})]
    assert sum(count for _, count in place(groups, rooms)) == left
