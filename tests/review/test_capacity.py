"""Whether the pods fit: now, when others finish, or never."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

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
from trainform.review.capacity import NOT_RESERVED, capacity_of
from trainform.review.context import Context, JobReview
from trainform.review.live import NO_HOLDERS, LiveClusterQueue, LiveKueue, LiveQueue, LiveQuota, LiveRange
from trainform.review.model import Capacity
from trainform.review.not_considered import not_considered
from trainform.review.report import build_report

CLUSTER = environment()


def new_job(**parts: Any) -> JobReview:
    return job_review(None, rendered(CLUSTER, **parts))


def judged(job: JobReview, *nodes: Any, **parts: Any) -> Capacity:
    of_cluster = ("queues", "other_queues", "quotas", "ranges", "kueue", "not_read")
    facts = live(nodes=nodes, **{name: parts.pop(name) for name in of_cluster if name in parts})
    return capacity_of(context(job, environment=CLUSTER, live=facts, **parts))


NODES = [live_node(f"node-{index}") for index in range(4)]


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


def test_what_a_job_holds_that_goes_with_the_same_preview_is_free() -> None:
    """An experiment under a new name."""
    old = job_review(rendered(CLUSTER, **workers(4), name="sd15-lora"), None, name="sd15-lora")
    own = f"{NAMESPACE}/{old.before.job if old.before else ''}"
    nodes = tuple(live_node(f"node-{index}", {own: 8}) for index in range(4))
    made = context(old, new_job(**workers(4)), environment=CLUSTER, live=live(nodes=nodes))
    assert capacity_of(made).verdict == "now"


def test_a_cordoned_node_takes_no_pods_and_counts_for_what_is_kept_for_others() -> None:
    """Volcano's shares are of all nodes: 16 are kept of 32, and the queue may hold the others."""
    cordoned = dataclasses.replace(NODES[3], open=False)
    queues = {"queues": (live_queue("default"),), "other_queues": (big(),)}
    assert judged(new_job(**workers(2)), *NODES[:3], cordoned, **queues).verdict == "now"
    assert judged(new_job(**workers(4)), *NODES[:3], cordoned).verdict == "never"


def test_a_node_that_is_not_ready_takes_no_pods() -> None:
    """Kubernetes taints it, and Volcano looks at the taints alone."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    lost = dataclasses.replace(NODES[3], taints=(taint,))
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
        ({"taints": (TAINT,)}, {"tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoExecute"}]}, "never"),
    ],
)  # fmt: skip
def test_selectors_and_taints_decide(node: dict[str, Any], role: dict[str, Any], verdict: str) -> None:
    capacity = judged(new_job(**workers(1, **role)), live_node("node-0", **node))
    assert capacity.verdict == verdict


def steered(*terms: Any, **more: Any) -> dict[str, Any]:
    """A worker whose pods must be on nodes of these terms."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    spec = {"affinity": {"nodeAffinity": required}, **more}
    return workers(1, pod_overrides={"spec": spec})


def expressions(*given: tuple[str, str, list[str]], part: str = "matchExpressions") -> dict[str, Any]:
    return {part: [{"key": key, "operator": operator, "values": values} for key, operator, values in given]}


@pytest.mark.parametrize(
    ("terms", "verdict"),
    [
        ([expressions(("pool", "In", ["fast", "slow"]))], "now"),
        ([expressions(("pool", "In", ["slow"]))], "never"),
        ([expressions(("zone", "In", ["a"]))], "never"),
        ([expressions(("pool", "NotIn", ["fast"]))], "never"),
        ([expressions(("zone", "NotIn", ["a"]))], "now"),
        ([expressions(("pool", "Exists", []), ("zone", "DoesNotExist", []))], "now"),
        ([expressions(("zone", "Exists", []))], "never"),
        ([expressions(("generation", "Gt", ["3"]), ("generation", "Lt", ["5"]))], "now"),
        ([expressions(("generation", "Gt", ["4"]))], "never"),
        ([expressions(("pool", "Gt", ["4"]))], "never"),
        ([expressions(("zone", "In", ["a"])), expressions(("pool", "In", ["fast"]))], "now"),
        ([expressions(("metadata.name", "In", ["node-0"]), part="matchFields")], "now"),
        ([expressions(("metadata.name", "In", ["node-7"]), part="matchFields")], "never"),
        ([{}], "never"),
    ],
)  # fmt: skip
def test_nodes_that_a_required_affinity_excludes_do_not_count(terms: list[Any], verdict: str) -> None:
    node = live_node("node-0", labels={"pool": "fast", "generation": "4"})
    assert judged(new_job(**steered(*terms)), node).verdict == verdict


def test_an_affinity_to_labels_that_the_environments_file_does_not_know() -> None:
    verdicts = [
        capacity_of(context(new_job(**steered(expressions(term))), environment=CLUSTER)).verdict
        for term in (("zone", "In", ["a"]), ("zone", "Exists", []))
    ]
    assert verdicts == ["unknown", "unknown"]


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


# --- queues


def test_a_gang_larger_than_its_queue_never_fits() -> None:
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=(live_queue("night", {GPU: "24"}),))
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith("The queue night may hold 24 a800, and the gang needs 32 a800 at once.")


def test_a_queue_in_which_others_hold_something() -> None:
    queue = live_queue("night", {GPU: "32"}, bert_77aa01=8)
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=(queue,))
    assert capacity.verdict == "later"
    assert capacity.shortages[0].model_dump() == {
        "resource": "a800",
        "asked": "32",
        "available": "24",
        "missing": "8",
        "holders": ["team-b/bert-77aa01: 8"],
    }
    exact = live_queue("night", {GPU: "40"}, bert_77aa01=8)
    assert judged(new_job(**workers(4), queue="night"), *NODES, queues=(exact,)).verdict == "now"


def test_the_queue_counts_as_the_preview_makes_it() -> None:
    queue = live_queue("night", {GPU: "24"})
    wider = queue_step("night", {"capability": {GPU: "24"}}, {"capability": {GPU: "32"}})
    job = new_job(**workers(4), queue="night")
    assert judged(job, *NODES, queues=(queue,), steps=(wider,)).verdict == "now"


def big(parent: str = "root") -> LiveQueue:
    return dataclasses.replace(live_queue("big"), guarantee={GPU: "16"}, parent=parent)


def test_what_is_kept_for_other_queues_is_no_room() -> None:
    capacity = judged(new_job(**workers(4)), *NODES, queues=(live_queue("default"),), other_queues=(big(),))
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith(
        "The queue default may hold 16 a800 (by the guarantees of other queues and the queues above it), and the gang needs 32 a800 at once."
    )
    fitting = judged(new_job(**workers(2)), *NODES, queues=(live_queue("default"),), other_queues=(big(),))
    assert fitting.verdict == "now"
    elsewhere = big(parent="team-b")
    assert (
        judged(new_job(**workers(4)), *NODES, queues=(live_queue("default"),), other_queues=(elsewhere,)).verdict
        == "now"
    )


def test_what_is_kept_beside_a_queue_above_is_no_room() -> None:
    below = dataclasses.replace(live_queue("night"), parent="team")
    queues = {"queues": (below,), "other_queues": (live_queue("root"), live_queue("team"), big())}
    assert judged(new_job(**workers(4), queue="night"), *NODES, **queues).verdict == "never"
    assert judged(new_job(**workers(2), queue="night"), *NODES, **queues).verdict == "now"


def test_what_the_preview_keeps_for_a_queue_is_no_room() -> None:
    step = queue_step("big", None, {"guarantee": {"resource": {GPU: "16"}}})
    assert judged(new_job(**workers(4)), *NODES, queues=(live_queue("default"),), steps=(step,)).verdict == "never"


def test_what_the_environments_file_keeps_for_a_queue_is_no_room() -> None:
    amounts = {"deserved": {"a800": 48}, "guarantee": {"a800": 48}}
    cluster = environment(queues={"default": {}, "big": amounts})
    jobs = [job_review(None, rendered(cluster, **workers(count))) for count in (2, 4)]
    assert [capacity_of(context(job, environment=cluster)).verdict for job in jobs] == ["unknown", "never"]


def test_what_a_queue_above_may_hold_is_shared_by_all_queues_below_it() -> None:
    below = dataclasses.replace(live_queue("night"), parent="team")
    beside = dataclasses.replace(live_queue("day", bert_77aa01=8), parent="team")
    queues = {"queues": (below,), "other_queues": (live_queue("team", {GPU: "24"}), beside)}
    capacity = judged(new_job(**workers(3), queue="night"), *NODES, **queues)
    assert capacity.verdict == "later"
    assert capacity.sentence.startswith("The queue team has 16 a800 left, and the gang needs 24 a800 at once: it waits")
    assert capacity.shortages[0].holders == ["team-b/bert-77aa01: 8"]
    assert judged(new_job(**workers(2), queue="night"), *NODES, **queues).verdict == "now"
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, **queues)
    assert (capacity.verdict, len(capacity.shortages)) == ("never", 1)


def test_where_nobody_knows_what_others_hold_it_is_not_known_whether_the_queue_has_room() -> None:
    parts = {
        "queues": (live_queue("night", {GPU: "32"}),),
        "not_read": {NO_HOLDERS: "this account may not list pod groups"},
    }
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, **parts)
    assert capacity.verdict == "unknown"
    assert capacity.sentence.startswith(
        "It is not known whether the gang fits into what is left of the queue night: this account may not list pod groups."
    )
    assert judged(new_job(**workers(5), queue="night"), *NODES, **parts).verdict == "never"


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
        f"The ResourceQuota team of the namespace {NAMESPACE} has 24 a800 left, and the gang needs 32 a800 at once: it waits"
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
        f"The ResourceQuota team of the namespace {NAMESPACE} refuses the pods of worker: the container main does not say its limits.cpu."
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
        ({"type": "Container", "max": {"cpu": "4"}}, "a container at most 4 cpu, and the container main of worker has 8 cpu."),
        ({"type": "Container", "max": {"ephemeral-storage": "1Gi"}}, "a container at most 1Gi ephemeral-storage, and the container main of worker has no limit of it."),
        ({"type": "Container", "min": {"cpu": "16"}}, "a container no less than 16 cpu, and the container main of worker has 8 cpu."),
        ({"type": "Pod", "max": {"cpu": "4"}}, "a pod at most 4 cpu, and a pod of worker has 8 cpu."),
        ({"type": "Container", "max": {"cpu": "8"}, "min": {"cpu": "8"}}, ""),
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}, "a container a limit of at most 0.5 times the request of cpu, and the container main of worker has 8 cpu for 8 cpu."),
        ({"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}}, "a pod a limit of at most 0.5 times the request of cpu, and a pod of worker has 8 cpu for 8 cpu."),
        ({"type": "Container", "maxLimitRequestRatio": {"ephemeral-storage": "2"}}, "a container a limit of at most 2 times the request of ephemeral-storage, and the container main of worker has no request of it."),
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "1"}}, ""),
        ({"type": "Pod", "maxLimitRequestRatio": {"cpu": "10"}}, ""),
        ({"type": "Pod", "max": {"cpu": "8"}}, ""),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, ""),
    ],
)  # fmt: skip
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


# --- Kueue's queues

KUEUE = environment(admission="kueue", backend="jobset", queues={})


def cluster_queue(name: str, nominal: int, cohort: str = "", held: int = 0, **more: Any) -> LiveClusterQueue:
    holders = {"team-b/bert-77aa01": {GPU: str(held)}} if held else {}
    amounts = {GPU: str(nominal)}
    return LiveClusterQueue(
        **{
            "name": name,
            "nominal": amounts,
            "borrows": {},
            "lends": amounts,
            "cohort": cohort,
            "holders": holders,
            **more,
        }
    )


def on_kueue(*queues: LiveClusterQueue, local: str = "team") -> Context:
    launcher = {"torchrun": {"script": "/app/train.py"}}
    job = job_review(None, rendered(KUEUE, **workers(4), queue="team", launcher=launcher))
    kueue = LiveKueue({f"{NAMESPACE}/{local}": "research"}, queues)
    return context(
        job, environment=KUEUE, live=live(nodes=tuple(NODES), kueue=kueue, queues=(live_queue("default", {GPU: "1"}),))
    )


@pytest.mark.parametrize(
    ("queues", "verdict"),
    [
        ([cluster_queue("research", 32)], "now"),
        ([cluster_queue("research", 24)], "never"),
        ([cluster_queue("research", 32, held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all")], "now"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all", held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "other")], "never"),
        ([cluster_queue("research", 16, "all", borrows={GPU: "8"}), cluster_queue("night", 16, "all")], "never"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all", lends={GPU: "8"})], "never"),
        ([cluster_queue("research", 16, "all", nested=True)], "now"),
    ],
)
def test_what_a_cluster_queue_of_kueue_may_hold(queues: list[LiveClusterQueue], verdict: str) -> None:
    capacity = capacity_of(on_kueue(*queues))
    assert capacity.verdict == verdict, capacity.sentence
    if verdict == "later":
        assert capacity.shortages[0].holders == ["team-b/bert-77aa01: 8"]


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_queue_of_kueue_that_is_stopped(policy: str) -> None:
    """It is not full: no other job has to finish, and nobody holds what is missing."""
    capacity = capacity_of(on_kueue(cluster_queue("research", 32, stopped=policy)))
    said = f"The ClusterQueue research admits nothing until somebody takes back its `stopPolicy: {policy}`."
    assert (capacity.verdict, capacity.sentence.startswith(said), capacity.shortages) == ("later", True, [])
    made = on_kueue(cluster_queue("research", 32))
    assert made.live is not None
    assert made.live.kueue is not None
    kueue = dataclasses.replace(made.live.kueue, stopped={f"{NAMESPACE}/team": policy, f"{NAMESPACE}/other": policy})
    capacity = capacity_of(dataclasses.replace(made, live=dataclasses.replace(made.live, kueue=kueue)))
    said = f"The LocalQueue team of the namespace {NAMESPACE} admits nothing until somebody takes back its `stopPolicy: {policy}`."
    assert (capacity.verdict, capacity.sentence.startswith(said)) == ("later", True)
    assert capacity_of(on_kueue(cluster_queue("research", 24, stopped=policy))).verdict == "never"


def test_a_queue_of_kueue_that_nobody_knows_is_said() -> None:
    (said,) = not_considered(on_kueue(cluster_queue("research", 32), local="other"))
    assert said == "Kueue admits the job sdxl-lora, and its LocalQueue team leads to no ClusterQueue in the cluster."
    (said,) = not_considered(on_kueue(cluster_queue("research", 32, "all", nested=True)))
    assert said.startswith("The cohort all of the ClusterQueue research has quotas of its own, or a cohort above it")
    made = on_kueue()
    assert made.live is not None
    (said,) = not_considered(dataclasses.replace(made, live=dataclasses.replace(made.live, kueue=None)))
    assert said == "Kueue admits the job sdxl-lora, and what its queue team may hold was not read."
    assert not [*not_considered(on_kueue(cluster_queue("research", 32)))]


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
            "The only pod with accelerators (8 a800) fits on the nodes of the environment's file; what is free of it now is not known, nor "
            f"whether there is room for 400 pods {UNLISTED}. {NOT_RESERVED}",
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
