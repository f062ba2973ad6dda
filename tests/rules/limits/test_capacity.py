"""More than the environment, its nodes or a queue have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, limited, pod, raw, workers
from tests.support.rendering import job_problems
from tests.support.samples import CLUSTER, environment, experiment, reasons
from trainform.job.render import render_job
from trainform.spec.environment import Environment

A800 = {"a800": CLUSTER["accelerators"]["a800"]}


def overridden(spec: dict[str, Any], cluster: Environment, **role: Any) -> dict[str, str]:
    """Return the findings of the environment's rules; the plan's own amounts are not a matter of patches either."""
    made = experiment(roles={"worker": {"replicas": 2, **role, "pod_overrides": {"spec": spec}}})
    return {problem.path: problem.reason for problem in job_problems(made, cluster) if problem.code}


def test_more_than_the_environment_allows() -> None:
    assert reasons(limited(max_accelerators=16), roles=workers(2)) == {}
    expected = {"roles": "the pods ask for 24 accelerators together; the environment allows 16"}
    assert reasons(limited(max_accelerators=16), roles=workers(3)) == expected
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
    """Like the scheduler: a limit above the request is room that a pod may use while it is free."""
    amounts = {"requests": {"cpu": requests}, "limits": {"cpu": limits}}
    role = {"accelerators": {"a800": 8}, "cpu": 8, "memory": "8Gi"}
    expected = {"roles.worker.pod_overrides": "the amount is more cpu than a node with a800 has (128)"}
    patch = {"containers": {"aside": {"image": "python", "resources": amounts}}}
    assert overridden(patch, limited(), **role) == (expected if counted else {})


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
        expected = f"the pods need {needed} nodes with a800 at once; the environment has {needed - 1}"
        assert reasons(nodes(needed - 1), roles=roles) == {"roles": expected}


TENSORFLOW: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}}}
OWN_PORTS: dict[str, Any] = {**TENSORFLOW, "network": {"host": True, "ports": "per-replica"}}


def of_main(*ports: dict[str, Any]) -> dict[str, Any]:
    named = {f"own-{index}": port for index, port in enumerate(ports)}
    return {"pod_overrides": {"spec": {"containers": {"main": {"ports": named}}}}}


def on_hosts(number: int, **parts: Any) -> dict[str, str]:
    """Return the findings of the environment's rules with so many nodes."""
    kinds = {"a800": {**A800["a800"], "nodes": number}}
    where = environment(accelerators=kinds, queues={}, limits={"host_network": True, "pod_security": "privileged"})
    return {each.path: each.reason for each in job_problems(experiment(**parts), where) if each.code}


@pytest.mark.parametrize("port", [{"containerPort": 9100}, {"containerPort": 9100, "hostPort": 9100}], ids=str)
def test_a_port_of_the_node_counts_over_all_templates(port: dict[str, Any]) -> None:
    """Each replica has its own template, and on the host network the server makes a port of the node of every
    port."""
    roles = workers(4, 1, **of_main(port))
    assert on_hosts(4, **OWN_PORTS, roles=roles) == on_hosts(1, **OWN_PORTS, roles=workers(4, 1)) == {}
    expected = (
        "the pods need 4 nodes with a800 at once, since 4 of them take the port 9100/TCP of their node; the "
        "environment has 3"
    )
    assert on_hosts(3, **OWN_PORTS, roles=roles) == {"roles": expected}
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
