"""Room for the pods of a preview: now, when others finish, or never."""

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
from trainform.cluster.facts import NO_HOLDERS, LiveClusterQueue, LiveKueue, LiveNode, LiveQuota
from trainform.review.capacity import capacity_of, not_considered
from trainform.review.context import Context, JobReview
from trainform.review.model import Capacity
from trainform.review.report import build_report

CLUSTER = environment(priority_classes={"urgent": {"value": 1000}})
NODES = [live_node(f"node-{index}") for index in range(4)]
ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
BERT = "team-b/bert-77aa01"


def new_job(name: str = "sdxl-lora", **parts: Any) -> JobReview:
    return job_review(None, rendered(CLUSTER, **{"name": name, **parts}), name=name)


def reviewed(job: JobReview, *nodes: LiveNode, **parts: Any) -> Context:
    of_cluster = ("queues", "other_queues", "quotas", "kueue", "not_read", "priorities")
    facts = live(nodes=nodes, **{name: parts.pop(name) for name in of_cluster if name in parts})
    return context(job, environment=CLUSTER, live=facts, **parts)


def judged(job: JobReview, *nodes: LiveNode, **parts: Any) -> Capacity:
    return capacity_of(reviewed(job, *nodes, **parts))


# --- nodes


def test_pods_that_fit_now() -> None:
    capacity = judged(new_job(**workers(4)), *NODES)
    assert (capacity.verdict, capacity.basis, capacity.shortages, capacity.clause) == ("now", "cluster", [], "")
    assert capacity.sentence == "Fits now: 4 pods, 32 a800."
    (role,) = capacity.roles
    assert (role.role, role.pods, role.fit, role.nodes) == ("worker", 4, 4, 4)
    assert (role.resource, role.largest) == ("a800", "8")


def test_pods_that_fit_when_others_finish() -> None:
    busy = live_node("node-3", {BERT: 4, "team-c/vit-010203": 1})
    capacity = judged(new_job(**workers(4)), *NODES[:3], busy)
    assert (capacity.verdict, capacity.clause) == (
        "later",
        "waits for 8 a800 held by team-b/bert-77aa01 and team-c/vit-010203",
    )
    assert capacity.sentence == (
        "Waits for 8 a800 held by team-b/bert-77aa01 and team-c/vit-010203: the nodes have room for 24 a800 now, "
        "and the job needs 32 a800."
    )
    (shortage,) = capacity.shortages
    assert (shortage.resource, shortage.asked, shortage.available, shortage.missing) == ("a800", "32", "24", "8")
    assert shortage.holders == ["team-b/bert-77aa01: 4", "team-c/vit-010203: 1"]
    assert [(role.fit, role.nodes) for role in capacity.roles] == [(3, 3)]


@pytest.mark.parametrize(("before", "after"), [({}, {}), ({}, {"labels": {"team": "vision"}})])
def test_a_job_that_keeps_its_pods_needs_no_room(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = (rendered(CLUSTER, **workers(2), **parts) for parts in (before, after))
    capacity = judged(job_review(old, new, "update" if after else None))
    assert (capacity.verdict, capacity.basis, capacity.clause) == ("unchanged", "none", "")


def test_pods_that_are_added_to_a_gang() -> None:
    before, after = (rendered(CLUSTER, **workers(count, 1), launcher=ELASTIC) for count in (4, 8))
    own = live_node("node-0", {f"{NAMESPACE}/{before.plan.job}": 4, BERT: 4})
    full = [live_node(f"node-{index}", {"team-c/vit-010203": 8}) for index in (1, 2, 3)]
    capacity = judged(job_review(before, after, "update"), own, *full)
    held = "4 a800 held by team-c/vit-010203 and team-b/bert-77aa01"
    assert (capacity.verdict, capacity.clause) == ("later", f"gets its new pods later: they wait for {held}")
    assert judged(job_review(before, after, "update"), own, *NODES[1:]).verdict == "now"
    anew = judged(job_review(before, after), own, *full)
    assert anew.clause == f"starts with a part of its pods; the others wait for {held}"


def test_the_room_of_jobs_that_end_is_free() -> None:
    before, after = rendered(CLUSTER, **workers(4)), rendered(CLUSTER, **workers(4), env={"NCCL_DEBUG": "INFO"})
    nodes = [live_node(f"node-{index}", {f"{NAMESPACE}/{before.plan.job}": 8}) for index in range(4)]
    assert judged(job_review(before, after), *nodes).verdict == "now"
    assert judged(new_job(**workers(4)), live_node("a", {BERT: 8}), *nodes[1:]).verdict == "later"
    renamed = context(job_review(before, None, name="old"), new_job(**workers(4)), live=live(nodes=tuple(nodes)))
    assert capacity_of(renamed).verdict == "now"


def test_what_belongs_to_a_node_never_ends() -> None:
    kept = live_node("node-3", requested={GPU: "1"})
    assert judged(new_job(**workers(4)), *NODES[:3], kept).verdict == "never"


SMALL = live_node("node-0", allocatable={"cpu": "96", "memory": "1Ti", GPU: "4", "pods": "110"})
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
TWO_ROLES = {
    "roles": {
        "master": {"replicas": 2, "accelerators": {"a800": 5}},
        "worker": {"replicas": 3, "accelerators": {"a800": 5}},
    }
}


@pytest.mark.parametrize(
    ("parts", "nodes", "reason"),
    [
        (workers(5), NODES, "the nodes have room for 32 a800, and the job needs 40 a800"),
        (workers(1), [SMALL], "a pod of worker needs 8 a800, and no node has more than 4"),
        (workers(1, cpu="97"), NODES, "a pod of worker needs 97 cpu, and no node has more than 96"),
        # of 32; two pods of 5 never share a node of 8
        (TWO_ROLES, NODES, "the nodes have room for 20 a800, and the job needs 25 a800"),
        (
            {"roles": {"reader": {"replicas": 4000}}},
            NODES,
            "the nodes have room for 440 pods, and the job needs 4000 pods",
        ),
        (
            workers(4),
            [*NODES[:3], structs.replace(NODES[3], open=False)],
            "the nodes have room for 24 a800, and the job needs 32 a800 (cordoned nodes not counted: 1)",
        ),
        (workers(1), [structs.replace(NODES[0], open=False)], "no node takes pods (cordoned nodes not counted: 1)"),
        (workers(1, node_selector={"zone": "x"}), NODES, "no node has the label zone=x"),
        (
            workers(1, node_selector={"zone": "x", "pool": "a"}),
            [live_node("node-0", labels={"zone": "x"}), live_node("node-1", labels={"pool": "a"})],
            "no node has the labels zone=x, pool=a",
        ),
        (
            workers(1),
            [structs.replace(NODES[0], taints=(NOT_READY,))],
            "the pods of worker do not tolerate the taint node.kubernetes.io/not-ready:NoSchedule",
        ),
    ],
)
def test_pods_that_never_start(parts: dict[str, Any], nodes: list[LiveNode], reason: str) -> None:
    capacity = judged(new_job(**parts), *nodes)
    assert (capacity.verdict, capacity.clause) == ("never", f"never starts: {reason}")
    assert capacity.sentence == f"Never starts: {reason}."


TAINT = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node", "role", "verdict"),
    [
        ({"labels": {"pool": "fast"}}, {"node_selector": {"pool": "fast"}}, "now"),
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
    assert judged(new_job(**workers(1, **role)), live_node("node-0", **node)).verdict == verdict


def test_pods_of_several_sizes_need_room_together() -> None:
    """Each role fits by itself: the worker takes the node that the master needs."""
    roles = {
        "master": {"replicas": 1, "accelerators": {"a800": 4}},
        "worker": {"replicas": 1, "accelerators": {"a800": 8}},
    }
    used = [live_node(f"node-{index}", {BERT: 6}) for index in (1, 2)]
    assert judged(new_job(roles=roles), NODES[0], *used).verdict == "later"
    assert judged(new_job(roles=roles), NODES[0], NODES[1], *used).verdict == "now"


@pytest.mark.parametrize(
    ("ports", "nodes", "verdict"), [({}, 1, "never"), ({}, 2, "now"), ({"ports": "per-replica"}, 1, "now")]
)
def test_a_port_of_the_node_lets_one_pod_on_it(ports: dict[str, Any], nodes: int, verdict: str) -> None:
    parts = {**workers(2, 1), "network": {"host": True, **ports}}
    assert judged(new_job(**parts), *NODES[:nodes]).verdict == verdict


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "kubedl", "jobset"])
def test_the_pods_of_every_operator(backend: str) -> None:
    job = new_job(**workers(4), launcher={"torchrun": {"script": "/app/train.py"}}, backend=backend)
    assert judged(job, *NODES).verdict == "now"
    assert judged(job, *NODES[:3]).verdict == "never"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (None, "It is unknown whether the pods fit: the nodes of the cluster were not read."),
        (
            live(nodes=None, not_read={NO_HOLDERS: "this account may not list pods"}),
            "It is unknown whether the pods fit: this account may not list pods.",
        ),
    ],
)
def test_without_nodes_the_room_is_unknown(facts: Any, sentence: str) -> None:
    capacity = capacity_of(context(new_job(**workers(99)), environment=CLUSTER, live=facts))
    assert (capacity.verdict, capacity.basis, capacity.sentence) == ("unknown", "environment", sentence)
    assert capacity_of(context(new_job(**workers(4)), live=facts)).basis == "none"


# --- Volcano's queues


def night(capability: int | None = None, **more: Any) -> tuple[Any, ...]:
    return (live_queue("night", {} if capability is None else {GPU: str(capability)}, **more),)


def test_a_gang_larger_than_its_queue_never_starts() -> None:
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=night(24))
    assert capacity.clause == "never starts: the queue night may hold 24 a800, and the job needs 32 a800"
    assert capacity.queue is not None
    assert capacity.queue.model_dump() == {
        "name": "night",
        "resource": "a800",
        "held": 0,
        "requested": 32,
        "capability": 24,
    }


def test_an_elastic_job_that_grows_beyond_its_queue() -> None:
    before, after = (rendered(CLUSTER, **workers(count, 1), launcher=ELASTIC, queue="night") for count in (2, 4))
    scaled = judged(job_review(before, after, "update"), *NODES, queues=night(3))
    why = "the queue night may hold 3 a800, and all pods of the job need 4 a800"
    assert (scaled.verdict, scaled.clause) == ("later", f"gets only a part of its new pods: {why}")
    anew = judged(job_review(before, after), *NODES, queues=night(3))
    assert anew.clause == f"starts with a part of its pods: {why}"
    others = judged(job_review(before, after, "update"), *NODES, queues=night(4, bert_77aa01=1))
    assert others.clause == "gets its new pods later: they wait for 1 a800 held by team-b/bert-77aa01"


def test_a_queue_in_which_others_hold_something() -> None:
    queues = night(32, bert_77aa01=8)
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=queues, priorities={BERT: 100})
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
    assert judged(new_job(**workers(4), queue="night"), *NODES, queues=night(40, bert_77aa01=8)).verdict == "now"


def test_a_higher_priority_may_take_the_room() -> None:
    job = new_job(**workers(4), queue="night", priority_class="urgent")
    queues = night(32, bert_77aa01=8, vit_010203=8)
    capacity = judged(job, *NODES, queues=queues, priorities={BERT: 100, "team-b/vit-010203": 2000})
    assert capacity.shortages[0].evicts == ["team-b/bert-77aa01"]
    assert capacity.sentence.endswith(
        " A scheduler with the action `preempt` or `reclaim` may evict team-b/bert-77aa01."
    )


def test_a_queue_may_take_back_its_share() -> None:
    """Of 32 a800 night and day have 16 each."""
    busy = [live_node(f"node-{index}", {BERT: 8}) for index in (1, 2, 3)]
    queues = {"queues": night(), "other_queues": (live_queue("day", bert_77aa01=24),)}
    capacity = judged(new_job(**workers(2), queue="night"), NODES[0], *busy, **queues)
    assert (capacity.verdict, capacity.shortages[0].evicts) == ("later", ["team-b/bert-77aa01"])
    kept = (structs.replace(queues["other_queues"][0], reclaimable=False),)
    assert (
        not judged(new_job(**workers(2), queue="night"), NODES[0], *busy, queues=night(), other_queues=kept)
        .shortages[0]
        .evicts
    )
    above = judged(new_job(**workers(3), queue="night"), NODES[0], *busy, **queues)
    assert above.shortages[0].evicts == []


def test_the_queue_counts_as_the_preview_makes_it() -> None:
    wider = queue_step("night", {"capability": {GPU: "24"}}, {"capability": {GPU: "32"}})
    job = new_job(**workers(4), queue="night")
    assert judged(job, *NODES, queues=night(24), steps=(wider,)).verdict == "now"
    patched = queue_step("night", {"weight": 1}, {"weight": 2}, "QueuePatch")
    assert judged(job, *NODES, queues=night(24), steps=(patched,)).verdict == "never"


def test_a_queue_above_limits_all_queues_below_it() -> None:
    below = structs.replace(live_queue("night"), parent="team")
    beside = structs.replace(live_queue("day", bert_77aa01=8), parent="team")
    queues = {"queues": (below,), "other_queues": (live_queue("team", {GPU: "24"}), beside)}
    capacity = judged(new_job(**workers(3), queue="night"), *NODES, **queues)
    assert capacity.clause == "waits for 8 a800 held by team-b/bert-77aa01"
    assert "the queue team has 16 of 24 a800 left" in capacity.sentence
    assert judged(new_job(**workers(2), queue="night"), *NODES, **queues).verdict == "now"
    assert judged(new_job(**workers(4), queue="night"), *NODES, **queues).verdict == "never"


def test_where_the_holders_are_unknown_the_room_in_the_queue_is_unknown() -> None:
    parts = {"queues": night(32), "not_read": {NO_HOLDERS: "this account may not list pod groups"}}
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, **parts)
    assert (capacity.verdict, capacity.queue) == ("unknown", None)
    assert "the queue night was not read (this account may not list pod groups)" in capacity.sentence
    assert judged(new_job(**workers(5), queue="night"), *NODES, **parts).verdict == "never"


# --- several stacks of one review


def test_a_queue_that_the_same_review_makes_smaller() -> None:
    smaller = queue_step("night", {"capability": {GPU: "32"}}, {"capability": {GPU: "16"}})
    platform = context(steps=(smaller,), environment=CLUSTER)
    job = reviewed(new_job(**workers(4), queue="night"), *NODES, queues=night(32), earlier=(platform,))
    assert capacity_of(job).clause == "never starts: the queue night may hold 16 a800, and the job needs 32 a800"


def test_jobs_that_the_same_review_starts_before_take_their_room() -> None:
    first = reviewed(new_job("clip", **workers(2)), *NODES)
    second = reviewed(new_job(**workers(3)), *NODES, earlier=(first,))
    name = first.jobs[0].after.job  # type: ignore[union-attr]
    assert capacity_of(second).clause == f"waits for 8 a800 held by {name}"
    assert capacity_of(reviewed(new_job(**workers(2)), *NODES, earlier=(first,))).verdict == "now"
    large = reviewed(new_job("large", **workers(5)), *NODES)  # never starts, so it takes nothing
    assert capacity_of(reviewed(new_job(**workers(4)), *NODES, earlier=(large,))).verdict == "now"


def test_jobs_that_the_same_review_ends_before_leave_their_room() -> None:
    old = rendered(CLUSTER, **workers(4), name="clip")
    full = [live_node(f"node-{index}", {f"{NAMESPACE}/{old.plan.job}": 8}) for index in range(4)]
    first = reviewed(job_review(old, None, name="clip"), *full)
    assert capacity_of(reviewed(new_job(**workers(4)), *full)).verdict == "later"
    assert capacity_of(reviewed(new_job(**workers(4)), *full, earlier=(first,))).verdict == "now"


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


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_queue_of_kueue_that_is_stopped(policy: str) -> None:
    capacity = capacity_of(on_kueue(cluster_queue("research", 32, stopped=policy)))
    assert (capacity.verdict, capacity.shortages) == ("later", [])
    assert capacity.clause == f"waits: the ClusterQueue research admits nothing (`stopPolicy: {policy}`)"
    local = capacity_of(on_kueue(cluster_queue("research", 32), stopped=policy))
    assert local.sentence == f"Waits: the LocalQueue {NAMESPACE}/team admits nothing (`stopPolicy: {policy}`)."
    assert capacity_of(on_kueue(cluster_queue("research", 24, stopped=policy))).verdict == "never"


# --- what is left out


def test_rules_between_pods_are_reported_as_not_considered() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spec = {
        "affinity": {
            "nodeAffinity": {
                required: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]}
            },
            "podAntiAffinity": {required: [{"topologyKey": "zone"}]},
        },
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    }
    made = context(new_job(**workers(2, pod_overrides={"spec": spec})), environment=CLUSTER)
    assert [*not_considered(made)] == [
        f"Not considered: {rule} of worker."
        for rule in ("nodeAffinity", "podAntiAffinity", "topologySpreadConstraints")
    ]
    assert {found.what for found in build_report(made).not_checked} >= {"capacity"}
    loose = {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    }
    assert not [*not_considered(context(new_job(**workers(2, pod_overrides={"spec": loose})), environment=CLUSTER))]


def test_quotas_and_queues_that_are_not_considered() -> None:
    scoped = reviewed(new_job(**workers(4)), *NODES, quotas=quota({"pods": "1"}, scoped=True))
    assert capacity_of(scoped).verdict == "now"
    assert [*not_considered(scoped)] == ["Not considered: the ResourceQuota team, which counts only some pods."]
    assert [*not_considered(on_kueue(cluster_queue("research", 32), local="other"))] == [
        "Not considered: the queue team of Kueue, whose ClusterQueue was not found."
    ]
    assert [*not_considered(on_kueue(cluster_queue("research", 32, "all", nested=True)))] == [
        "Not considered: the cohort all, which has quotas of its own or a parent."
    ]
    assert not [*not_considered(on_kueue(cluster_queue("research", 32)))]
    counted = reviewed(new_job(**workers(4)), *NODES, quotas=quota({"count/jobs.batch": "0", "limits.cpu": "4"}))
    assert [*not_considered(counted)] == ["Not considered: count/jobs.batch, limits.cpu of the ResourceQuota team."]
    guaranteed = structs.replace(live_queue("day"), guarantee={GPU: "8"})
    kept = reviewed(new_job(**workers(4), queue="night"), *NODES, queues=(*night(32), guaranteed))
    assert [*not_considered(kept)] == ["Not considered: the `guarantee` of other queues: day."]
