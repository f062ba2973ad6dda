"""What containers request, as which kind of accelerator it counts, and what it costs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.rendering import job_problems
from tests.support.samples import CLUSTER, environment, experiment, plan, reasons
from trainform.job.render import render_job
from trainform.rules.limits.resources import demands
from trainform.rules.limits.rule import Judged
from trainform.spec.environment import Environment

OFFER = "the environment dev does not offer the resource"


def asking(amounts: dict[str, Any], field: str = "limits", kind: str = "containers") -> dict[str, Any]:
    """A merge patch of pods with one more container."""
    container = {"name": "aside", "image": "python", "resources": {field: amounts}}
    held = {"aside": container} if kind == "containers" else [container]
    return {"spec": {kind: held}}


def test_a_resource_in_the_domain_of_kubernetes_is_counted_too() -> None:
    for judge in (by_role, by_job):
        assert judge("TF-RES-3", limited(), asking({"kubernetes.io/batch-cpu": 1})) != {}


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "smarter-devices/fuse"])
@pytest.mark.parametrize("field", ["limits", "requests"])
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_only_resources_that_the_environment_offers(resource: str, field: str, kind: str) -> None:
    patch = asking({resource: 1}, field, kind)
    for judge in (by_role, by_job):
        (reason,) = judge("TF-RES-3", limited(), patch).values()
        assert reason.startswith(f"{OFFER} {resource} ")
        assert judge("TF-RES-3", limited(resources=[resource]), patch) == {}
    assert found("TF-RES-3", limited(), roles={"worker": {"resources": {resource: 1}}}).keys() == {
        f"roles.worker.resources.{resource}"
    }
    assert found("TF-RES-3", limited(resources=[resource]), roles={"worker": {"resources": {resource: 1}}}) == {}


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "baidu.com/a800_80g_cgpu", "rdma/hca", "cpu", "hugepages-2Mi", "ephemeral-storage"]
)
def test_resources_that_are_offered_or_the_nodes_own(resource: str) -> None:
    assert by_role("TF-RES-3", limited(), asking({resource: 1})) == {}


@pytest.mark.parametrize(("request_of", "limit"), [(1, 32), (32, 1)])
def test_the_larger_of_request_and_limit_counts(request_of: int, limit: int) -> None:
    resources = {"requests": {"nvidia.com/gpu": request_of}, "limits": {"nvidia.com/gpu": limit}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    assert pod(spec).pod_request("nvidia.com/gpu") == 32
    assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {"accelerators.l40s"}
    resources = {"requests": {"cpu": 2}, "limits": {"cpu": 4}}
    assert pod({"containers": [{"resources": resources}]}).pod_request("cpu") == 2


def test_none_of_a_resource_is_no_request() -> None:
    assert by_role("TF-RES-3", limited(), asking({"amd.com/gpu": 0})) == {}
    assert by_role("TF-RES-3", environment(accelerators={}, rdma=None), asking({"rdma/hca": 1})) != {}


def test_devices_are_claimed_by_the_templates_of_the_environment() -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    container = {"name": "main", "resources": {"claims": [{"name": "gpu"}]}}
    told = "the environment dev does not allow this `resourceClaimTemplateName` (allowed: {})"
    for judge, patch in ((by_role, {"main": container}), (by_job, [container])):
        spec = {"spec": {"resourceClaims": claims, "containers": patch}}
        assert set(judge("TF-RES-3", limited(), spec).values()) == {told.format("none")}
        assert judge("TF-RES-3", limited(resource_claims=["one-gpu"]), spec) == {}
        assert set(judge("TF-RES-3", limited(resource_claims=["two"]), spec).values()) == {told.format("two")}
    existing = {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one-gpu"}]}}
    assert by_role("TF-RES-3", limited(resource_claims=["one-gpu"]), existing) != {}, "other jobs share it"
    assert by_role("TF-RES-3", limited(), {"spec": {"resourceClaims": []}}) == {}


def test_amounts_of_others_that_cannot_be_read() -> None:
    """Kubernetes reads 1e3 too. Such a patch of an experiment is refused by its schema."""
    for where, spec in {
        "spec.containers.0.resources.limits.nvidia.com/gpu": {
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1e3"}}}]
        },
        "spec.resources.requests.cpu": {"resources": {"requests": {"cpu": "1e3"}}},
    }.items():
        assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {where}
    assert raw("TF-RES-1", limited(), {}, pod({"resources": {"requests": {"cpu": "1k"}}})) == {}
    assert (
        by_role("TF-RES-1", limited(), asking({"cpu": "500m"}))
        == by_job("TF-RES-1", limited(), asking({"cpu": 1}))
        == {}
    )


@pytest.mark.parametrize("amount", [32, "32"])
def test_what_a_pod_asks_for_as_a_whole_counts(amount: Any) -> None:
    spec = {"containers": [], "resources": {"limits": {"nvidia.com/gpu": amount}}}
    assert raw("TF-RES-1", limited(), {}, pod(spec)).keys() == {"accelerators.l40s"}
    spec = {"containers": [], "resources": {"limits": {"nvidia.com/gpu": 4}}}
    assert raw("TF-RES-1", limited(), {}, pod(spec)) == {}


def volume(name: str, **source: Any) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory", **source}}


HALF = "the shared memory is more than 0.5 of the node's memory (512Gi of 1Ti)"
NODES = {"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 8, "memory": "1Ti"}}
HALVED = environment(accelerators=NODES, limits={"shared_memory_share": 0.5})


def test_shared_memory_by_fields() -> None:
    assert found("TF-RES-4", HALVED, shared_memory="512Gi") == {}
    assert found("TF-RES-4", HALVED, shared_memory="513Gi") == {"shared_memory": HALF}
    roles = {"worker": {"replicas": 2, "shared_memory": "513Gi"}}
    assert found("TF-RES-4", HALVED, roles=roles) == {"roles.worker.shared_memory": HALF}
    assert found("TF-RES-4", limited(), roles=roles) == {}
    assert found("TF-RES-4", HALVED, shared_memory="unlimited") == {"shared_memory": HALF}
    assert found("TF-RES-4", limited(), shared_memory="unlimited") == {}


@pytest.mark.parametrize(
    ("volumes", "refused"),
    [
        ([volume("shm", sizeLimit="512Gi")], False),
        ([volume("shm", sizeLimit="256Gi"), volume("more", sizeLimit="256Gi")], False),
        ([volume("shm", sizeLimit="256Gi"), volume("more", sizeLimit="257Gi")], True),
        ([volume("shm")], True),
        ([volume("shm", sizeLimit="0")], True),
        ([volume("shm", sizeLimit=0)], True),
        ([{"name": "disk", "emptyDir": {}}], False),
        ([{"name": "disk", "emptyDir": {"sizeLimit": "2Ti"}}], False),
    ],
)
def test_shared_memory_of_several_volumes(volumes: list[dict[str, Any]], refused: bool) -> None:
    assert set(raw("TF-RES-4", HALVED, {}, pod({"volumes": volumes})).values()) == ({HALF} if refused else set())


def test_shared_memory_is_a_share_of_the_node_of_the_pods() -> None:
    kinds = {**NODES, "l40s": {"resource": "nvidia.com/gpu", "per_node": 4, "nodes": 4, "memory": "256Gi"}}
    two = environment(accelerators=kinds, limits={"shared_memory_share": 0.5})
    on = {"replicas": 1, "shared_memory": "200Gi"}
    assert found("TF-RES-4", two, roles={"worker": {**on, "accelerators": {"a800": 8}}}) == {}
    assert found("TF-RES-4", two, roles={"worker": {**on, "accelerators": {"l40s": 4}}}) != {}
    assert found("TF-RES-4", two, roles={"worker": on}) != {}, "the pod may land on the smallest node"


def test_requests() -> None:
    needed = limited(severity={"TF-RES-5": "error"})
    assert found("TF-RES-5", needed, roles={"worker": {"cpu": 1, "memory": "1Gi"}}) == {}
    assert set(found("TF-RES-5", needed, roles={"worker": {"cpu": 1}}).values()) == {
        "the container asks for no memory, which the environment dev requires"
    }
    assert found("TF-RES-5", limited(), roles={"worker": {}}) == {}, "off by default"
    right: dict[str, Any] = {"cpu": 1, "memory": "1Gi"}
    for judge in (by_role, by_job):
        assert judge("TF-RES-5", needed, asking({"cpu": 1})) != {}
    assert by_role("TF-RES-5", needed, asking(right, "requests"), **right) == {}
    assert raw("TF-RES-5", needed, {}, pod({"containers": [{}], "resources": {"limits": right}})) == {}
    assert raw("TF-RES-5", needed, {}, pod({"containers": [{}]})).keys() == {
        "spec.containers.0.resources.requests.cpu", "spec.containers.0.resources.requests.memory"
    }  # fmt: skip


A800 = {"a800": CLUSTER["accelerators"]["a800"]}


def overridden(spec: dict[str, Any], cluster: Environment, **role: Any) -> dict[str, str]:
    """What the environment's rules find; the plan's own amounts are not a matter of patches either."""
    made = experiment(roles={"worker": {"replicas": 2, **role, "pod_overrides": {"spec": spec}}})
    return {problem.path: problem.reason for problem in job_problems(made, cluster) if problem.code}


def workers(replicas: int, count: int = 8, kind: str = "a800", **role: Any) -> dict[str, Any]:
    return {"worker": {"replicas": replicas, "accelerators": {kind: count}, **role}}


def test_more_than_the_environment_allows() -> None:
    assert reasons(limited(max_accelerators=16), roles=workers(2)) == {}
    told = {"roles": "the pods ask for 24 accelerators together; the environment allows 16"}
    assert reasons(limited(max_accelerators=16), roles=workers(3)) == told
    assert reasons(limited(max_accelerators=0)) == {}


def test_a_patch_cannot_ask_for_more_accelerators() -> None:
    more = {
        "nodeSelector": {"pool": "l40s"},
        "containers": {
            "main": {"resources": {"limits": {"nvidia.com/gpu": "64"}, "requests": {"nvidia.com/gpu": "64"}}}
        },
    }
    found = overridden(more, limited(max_accelerators=16))
    assert found == {
        "roles": "the pods ask for 128 accelerators together; the environment allows 16",
        "roles.worker.pod_overrides": "the number is more than a node has (4 l40s)",
    }


@pytest.mark.parametrize(
    ("resource", "quantity", "reason"),
    [
        ("baidu.com/a800_80g_cgpu", 9, "the number is more than a node has (8 a800)"),
        ("cpu", "129", "the amount is more cpu than a node with a800 has (128)"),
        ("memory", "1025Gi", "the amount is more memory than a node with a800 has (1Ti)"),
    ],
)
def test_a_patch_cannot_ask_for_more_than_a_node_has(resource: str, quantity: object, reason: str) -> None:
    more = {"resources": {"limits": {resource: quantity}, "requests": {resource: quantity}}}
    role = {"accelerators": {"a800": 8}, "cpu": 8, "memory": "8Gi"}
    found = overridden({"containers": {"main": more}}, limited(), **role)
    assert found == {"roles.worker.pod_overrides": reason}
    found = overridden({"containers": {"aside": {"image": "python", **more}}}, limited(), **role)
    assert found.keys() == {"roles.worker.pod_overrides"}
    runs_before = [{"name": "fetch", "image": "python", "resources": {"limits": {resource: "1"}}}]
    assert overridden({"initContainers": runs_before}, limited(), **role) == {}, "it is gone when the others start"
    stays = [{**runs_before[0], "restartPolicy": "Always", "resources": more["resources"]}]
    assert overridden({"initContainers": stays}, limited(), **role).keys() == {"roles.worker.pod_overrides"}


@pytest.mark.parametrize(
    ("requests", "limits", "counted"),
    [("4", "200", False), ("200", "200", True), (None, "200", True), (None, None, False), ("129", None, True)],
)
def test_a_limit_counts_where_there_is_no_request(requests: str | None, limits: str | None, counted: bool) -> None:
    """As the scheduler does; a limit above the request is what a pod may use if nobody else does."""
    amounts = {"requests": {"cpu": requests}, "limits": {"cpu": limits}}
    role = {"accelerators": {"a800": 8}, "cpu": 8, "memory": "8Gi"}
    told = {"roles.worker.pod_overrides": "the amount is more cpu than a node with a800 has (128)"}
    patch = {"containers": {"aside": {"image": "python", "resources": amounts}}}
    assert overridden(patch, limited(), **role) == (told if counted else {})


def test_accelerators_have_a_field_of_their_own() -> None:
    role = {"resources": {"nvidia.com/gpu": 4}, "node_selector": {"pool": "l40s"}}
    assert reasons(roles={"worker": role}) == {
        "roles.worker.resources.nvidia.com/gpu": "the resource has a field of its own"
    }


def test_more_than_a_node_has() -> None:
    small = environment(accelerators={"a800": {**A800["a800"], "cpu": 96, "memory": "800Gi"}})
    assert reasons(small, roles=workers(1, 8, cpu=96, memory="800Gi")) == {}
    assert reasons(small, roles=workers(1, 9, cpu="96001m", memory="800001Mi", min_available=1)) == {
        "roles.worker.accelerators.a800": "the number is more than a node has (8 a800)",
        "roles.worker.cpu": "the amount is more cpu than a node with a800 has (96)",
    }
    assert "roles.worker.memory" in reasons(small, roles=workers(1, 8, memory="801Gi"))


def nodes(number: int) -> Environment:
    kinds = {"a800": {**A800["a800"], "nodes": number}}
    return environment(accelerators=kinds, queues={}, limits={"max_accelerators": 1000})


@pytest.mark.parametrize(
    ("roles", "needed"),
    [
        (workers(4), 4),
        (workers(4, 4), 2),
        (workers(5, 4), 3),
        (workers(3, 5), 3),
        (workers(8, 1), 1),
        (workers(4, min_available=2), 2),
        ({**workers(2), "master": {"replicas": 1, "accelerators": {"a800": 5}}}, 3),
        ({"worker": {"replicas": 100}}, 0),
    ],
)
def test_more_nodes_than_there_are(roles: dict[str, Any], needed: int) -> None:
    assert reasons(nodes(needed), roles=roles) == {}
    if needed:
        told = f"the pods need {needed} nodes with a800 at once; the environment has {needed - 1}"
        assert reasons(nodes(needed - 1), roles=roles) == {"roles": told}


TENSORFLOW: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}}}
OWN_PORTS: dict[str, Any] = {**TENSORFLOW, "network": {"host": True, "ports": "per-replica"}}


def of_main(*ports: dict[str, Any]) -> dict[str, Any]:
    named = {f"own-{index}": port for index, port in enumerate(ports)}
    return {"pod_overrides": {"spec": {"containers": {"main": {"ports": named}}}}}


def on_hosts(number: int, **parts: Any) -> dict[str, str]:
    """What the environment's rules find with so many nodes."""
    kinds = {"a800": {**A800["a800"], "nodes": number}}
    where = environment(accelerators=kinds, queues={}, limits={"host_network": True, "pod_security": "privileged"})
    return {each.path: each.reason for each in job_problems(experiment(**parts), where) if each.code}


@pytest.mark.parametrize("port", [{"containerPort": 9100}, {"containerPort": 9100, "hostPort": 9100}], ids=str)
def test_a_port_of_the_node_counts_over_all_templates(port: dict[str, Any]) -> None:
    """Each replica has a template of its own, and on the host network the server makes a port of the node of every
    port."""
    roles = workers(4, 1, **of_main(port))
    assert on_hosts(4, **OWN_PORTS, roles=roles) == on_hosts(1, **OWN_PORTS, roles=workers(4, 1)) == {}
    told = (
        "the pods need 4 nodes with a800 at once, since 4 of them take the port 9100/TCP of their node; the "
        "environment has 3"
    )
    assert on_hosts(3, **OWN_PORTS, roles=roles) == {"roles": told}
    fewer = workers(4, 1, min_available=2, **of_main(port))
    assert on_hosts(2, backend="volcano", **OWN_PORTS, roles=fewer) == {}


def test_more_than_the_nodes_hold_where_pods_share_them() -> None:
    kinds = {"a800": {**A800["a800"], "nodes": 2}}
    open_, limit = (
        environment(accelerators=kinds, queues={}, limits=limits) for limits in ({}, {"max_accelerators": 99})
    )
    two = {**workers(8, 2), "extra": {"replicas": 1, "ranked": False, "command": ["eval"], "accelerators": {"a800": 1}}}
    assert reasons(limit, roles=workers(8, 2)) == reasons(open_, roles=workers(8, 2)) == {}
    assert reasons(limit, roles=two) == {"roles": "the pods need 17 a800 at once; the environment has 16"}
    later = {**two, "extra": {**two["extra"], "min_available": 0}}
    assert reasons(limit, roles=later) == {}
    assert reasons(open_, roles=later) == {"roles": "the pods ask for 17 a800 together; the environment has 16"}


def test_a_queue_that_is_too_small() -> None:
    cluster = environment(
        queues={"night": {"capability": {"a800": 16}}, "day": {"capability": {"baidu.com/a800_80g_cgpu": 8}}}
    )
    assert reasons(cluster, queue="night", roles=workers(2)) == {}
    assert reasons(cluster, queue="night", roles=workers(3)) == {
        "queue": "the queue has a capability of 16 a800, and the gang needs 24 at once"
    }
    assert reasons(cluster, queue="day", roles=workers(2)) == {
        "queue": "the queue has a capability of 8 a800, and the gang needs 16 at once"
    }
    assert reasons(cluster, queue="night", roles=workers(3, min_available=2)) == {}
    assert reasons(cluster, queue={"capability": {"a800": 8}}, roles=workers(2)).keys() == {"queue"}
    assert reasons(cluster, roles=workers(8)) == {}


def test_each_limit_of_capacity_has_a_code_of_its_own() -> None:
    """Each can be lowered, and waived, by itself."""
    small = {"a800": {**A800["a800"], "nodes": 1}}
    queues = {"day": {"capability": {"a800": 8}}}
    for code, limits in (("TF-RES-2", {"max_accelerators": 16}), ("TF-RES-6", {}), ("TF-QUE-3", {})):
        others = [other for other in ("TF-RES-2", "TF-RES-6", "TF-QUE-3") if other != code]
        where = environment(
            accelerators=small,
            queues=queues,
            limits={"max_accelerators": 99, **limits, "severity": dict.fromkeys(others, "off")},
        )
        assert len(reasons(where, queue="day", roles=workers(3))) == 1, code
        where = environment(
            accelerators=small, queues=queues, limits={**limits, "severity": dict.fromkeys([*others, code], "off")}
        )
        assert reasons(where, queue="day", roles=workers(3)) == {}


def test_capacity_in_patches_of_the_job_and_in_jobs_of_others() -> None:
    resource = {"baidu.com/a800_80g_cgpu": 8}
    spec = {"containers": {"main": {"resources": {"limits": resource}}}}
    assert by_job("TF-RES-2", limited(max_accelerators=15), {"spec": spec}).keys() == {"roles"}
    assert by_job("TF-RES-2", limited(max_accelerators=16), {"spec": spec}) == {}
    others = pod({"containers": [{"resources": {"limits": resource}}]})
    assert raw("TF-RES-2", limited(max_accelerators=7), {}, others).keys() == {"roles"}
    assert raw("TF-RES-2", limited(max_accelerators=8), {}, others) == {}


def test_nodes_of_an_unknown_size_hold_any_pod_and_the_limits_still_count() -> None:
    kinds = {"a800": {"resource": "nvidia.com/gpu"}}
    open_, limit = (environment(accelerators=kinds, queues={}, limits=each) for each in ({}, {"max_accelerators": 16}))
    assert reasons(open_, roles=workers(99, 16, cpu="999")) == {}
    assert reasons(limit, roles=workers(2, 16)).keys() == {"roles"}


def test_a_role_may_set_its_own_number_of_the_rdma_resource() -> None:
    where = environment(rdma={"resource": "rdma/ib", "count": 8, "per_node": 8}, queues={})
    asked = {"resources": {"rdma/ib": "2"}}
    assert reasons(where, roles={"worker": {"replicas": 2, **asked}}, network={"rdma": True}) == {}
    job = render_job(experiment(roles={"worker": {"replicas": 2, **asked}}, network={"rdma": True}), where)
    assert job.plan.roles[0].resources["rdma/ib"] == "2"
    assert reasons(where, roles={"worker": {"replicas": 2, **asked}}).keys() == {"roles.worker.resources.rdma/ib"}


GPU = "nvidia.com/gpu"


def price(amount: float) -> dict[str, Any]:
    return {"amount": amount, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}


def kind_of(cost: float | None, per_node: int = 8, **selector: str) -> dict[str, Any]:
    given = {} if cost is None else {"price_per_hour": price(cost)}
    return {"resource": GPU, "per_node": per_node, "nodes": 4, "node_selector": selector, **given}


KINDS = {"a10": kind_of(1, pool="a10"), "b200": kind_of(9, pool="b200"), "h100": kind_of(4, pool="h100")}
WHERE = environment(accelerators=KINDS)
OPEN = environment(accelerators={**KINDS, "any": kind_of(0.5)}, node_selector={"zone": "a"})


def counted(where: Any, **spec: Any) -> str:
    """The kind as which a pod with one accelerator counts."""
    containers = [{"name": "main", "image": "python", "resources": {"limits": {GPU: 1}}}]
    (demand,) = demands(Judged({}, (pod({"containers": containers, **spec}),)), where)
    return demand.kind


STEERING: list[dict[str, Any]] = [
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]}
        }
    },
    {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}},
]
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}


@pytest.mark.parametrize("pool", KINDS)
def test_a_selector_names_the_kind(pool: str) -> None:
    assert counted(WHERE, nodeSelector={"pool": pool}) == pool
    assert counted(OPEN, nodeSelector={"pool": pool, "zone": "a"}) == pool


@pytest.mark.parametrize("affinity", STEERING)
def test_an_affinity_counts_as_the_dearest_kind(affinity: dict[str, Any]) -> None:
    assert counted(OPEN, affinity=affinity) == "b200"
    assert counted(OPEN, affinity=affinity, nodeSelector={"pool": "a10"}) == "a10"
    assert counted(OPEN, affinity=APART) == "any"


def test_labels_that_no_kind_has_may_be_those_of_any_node() -> None:
    assert counted(OPEN, nodeSelector={"zone": "a"}) == "any", "the environment's own"
    assert counted(OPEN) == "any"
    assert counted(OPEN, nodeSelector={"zone": "a", "nvidia.com/gpu.product": "B200"}) == "b200"


def test_a_kind_without_a_price_counts_as_the_dearest() -> None:
    where = environment(accelerators={**KINDS, "new": kind_of(None, pool="new")})
    assert counted(where, affinity=STEERING[0]) == "new"


def test_the_cost_of_an_affinity_to_dearer_nodes() -> None:
    where = environment(
        accelerators={"any": kind_of(1), "h100": kind_of(9, pool="h100")},
        limits={"max_cost_per_hour": {"amount": 5, "currency": "USD"}},
    )
    role = {"replicas": 1, "accelerators": {"any": 1}}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": APART}}, **role) == {}
    told = {"roles": "the pods cost 9.00 USD (prices of 2026-01-01) an hour together; the environment allows 5.00 USD"}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": STEERING[0]}}, **role) == told
    assert by_role("TF-COST-1", where, {}, **role, node_affinity={"require": {"pool": ["h100"]}}) == told


def priced(limit: float | None = 16, currency: str = "USD", **prices: tuple[float, str] | None) -> Environment:
    """The environment with these prices, and a limit."""
    kinds = {
        name: {**CLUSTER["accelerators"][name],
            **({} if price is None else {"price_per_hour": {"amount": price[0], "currency": price[1],
                        "as_of": datetime.date(2026, 1, 1)}})}
        for name, price in prices.items()
    }  # fmt: skip
    limits = {} if limit is None else {"max_cost_per_hour": {"amount": limit, "currency": currency}}
    return environment(accelerators=kinds, queues={}, limits=limits)


def test_cost_per_hour() -> None:
    two = priced(a800=(1, "USD"), l40s=(0.1, "USD"))
    assert (
        found("TF-COST-1", two, roles=workers(2))
        == found("TF-COST-1", priced(None, a800=(9, "USD")), roles=workers(2))
        == {}
    )
    assert found("TF-COST-1", two, roles=workers(3)) == {
        "roles": "the pods cost 24.00 USD (prices of 2026-01-01) an hour together; the environment allows 16.00 USD"
    }
    cost = plan(cluster=two, roles=workers(2)).totals.cost_per_hour
    assert cost is not None
    assert cost.dated == "16.00 USD (prices of 2026-01-01)"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), roles=workers(1, 3, "l40s")) == {}, "exact to the cent"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), roles=workers(1, 4, "l40s")) != {}
    assert found("TF-COST-1", two) == {}, "no accelerators, no price"


def test_a_cost_that_is_not_known() -> None:
    assert found("TF-COST-1", priced(a800=None), roles=workers(1)) == {
        "roles": "the cost per hour is not known (no price of a800), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "EUR")), roles=workers(1)) == {
        "roles": "the cost per hour is known in EUR, and the environment's limit is in USD"
    }
    both = {"a": {"replicas": 1, "accelerators": {"a800": 1}}, "b": {"replicas": 1, "accelerators": {"l40s": 1}}}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=(1, "EUR")), roles=both) == {
        "roles": "the cost per hour is not known (prices in several currencies), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), roles=both).keys() == {"roles"}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), roles=workers(1)) == {}, "the kind is not in use"


def test_the_cost_of_what_patches_ask_for() -> None:
    one = priced(a800=(1, "USD"))
    resource = CLUSTER["accelerators"]["a800"]["resource"]

    def more(count: int) -> dict[str, Any]:
        return {"spec": {"containers": {"main": {"resources": {"limits": {resource: count}}}}}}

    for judge in (by_role, by_job):
        assert judge("TF-COST-1", one, more(8)) == {}
        assert judge("TF-COST-1", one, more(9)).keys() == {"roles"}
    sidecar = {"containers": [{"resources": {"requests": {resource: "17"}}}]}
    assert raw("TF-COST-1", one, {}, pod(sidecar)).keys() == {"roles"}
    assert raw("TF-COST-1", limited(), {}, pod(sidecar)) == {}
