"""What an environment forbids or cannot hold; a merge patch cannot get around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import CLUSTER, environment, reasons
from trainform.policy.limits import qualified
from trainform.spec import Environment

A800 = {"a800": CLUSTER["accelerators"]["a800"]}


def limited(**limits: Any) -> Environment:
    return environment(limits=limits)


def overridden(spec: dict[str, Any], cluster: Environment, **role: Any) -> dict[str, str]:
    return reasons(cluster, roles={"worker": {"replicas": 2, **role, "pod_overrides": {"spec": spec}}})


HOST_NETWORK = "uses the host network, which the environment dev forbids"
FORBIDDEN = [
    ({"hostNetwork": True}, HOST_NETWORK),
    ({"containers": {"main": {"ports": [{"containerPort": 80, "hostPort": 80}]}}}, HOST_NETWORK),
    ({"containers": {"main": {"securityContext": {"privileged": True}}}}, "makes a container privileged"),
    ({"containers": {"log": {"image": "log", "securityContext": {"privileged": True}}}}, "makes a container privileged"),
    ({"initContainers": [{"name": "sysctl", "image": "busybox", "securityContext": {"privileged": True}}]}, "makes a container privileged"),
    ({"containers": {"main": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}}}, "adds the capabilities SYS_ADMIN"),
    ({"containers": {"main": {"securityContext": {"procMount": "Unmasked"}}}}, "unmasks /proc"),
    ({"volumes": {"tmp": {"hostPath": {"path": "/data"}}}}, "mounts a path of the node"),
    ({"volumes": [{"name": "tmp", "hostPath": {"path": "/"}}]}, "mounts a path of the node"),
    ({"hostPID": True}, "shares the node's processes"),
    ({"hostIPC": True}, "shares the node's processes"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "reason"), FORBIDDEN)
def test_overrides_of_a_role_do_not_get_around(spec: dict[str, Any], reason: str) -> None:
    assert overridden(spec, limited())["roles.worker.pod_overrides"].startswith(reason)
    assert overridden(spec, limited(host_network=True, privileged=True)) == {}


@pytest.mark.parametrize(("spec", "reason"), FORBIDDEN)
def test_overrides_of_the_job_do_not_get_around(spec: dict[str, Any], reason: str) -> None:
    patch = {"job": {"spec": {"tasks": {"worker": {"template": {"spec": spec}}}}}}
    assert any(found.startswith(reason) for found in reasons(limited(), manifest_overrides=patch).values())


def test_host_network() -> None:
    assert reasons(limited(), network={"host": True}) == {"network.host": HOST_NETWORK}
    assert reasons(limited(host_network=True), network={"host": True}) == {}


def test_what_the_fabric_needs_is_granted() -> None:
    assert reasons(network={"rdma": True}) == {}
    spec = {"containers": {"main": {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}}}
    assert overridden(spec, limited()) == {}


REGISTRIES = ["registry.example.com/ai", "localhost:5000"]


@pytest.mark.parametrize(
    ("reference", "allowed"),
    [
        ("registry.example.com/ai/pytorch-training:2.8", True),
        ("registry.example.com/ai/deep/er@sha256:" + "0" * 64, True),
        ("localhost:5000/pytorch", True),
        ("registry.example.com/other/pytorch", False),
        ("registry.example.com/ai-evil/pytorch", False),
        ("registry.example.com.evil.org/ai/pytorch", False),
        ("evil.org/registry.example.com/ai/pytorch", False),
        ("python:3.12", False),
        ("localhost/pytorch", False),
    ],
)
def test_registries(reference: str, allowed: bool) -> None:
    cluster = limited(registries=REGISTRIES)
    assert (reasons(cluster, image=reference) == {}) is allowed
    assert reasons(limited(), image=reference) == {}
    right = {"image": "localhost:5000/pytorch"}
    assert (reasons(cluster, **right, roles={"worker": {"image": reference}}) == {}) is allowed
    init = [{"name": "fetch", "image": reference, "command": ["fetch"]}]
    found = reasons(cluster, **right, roles={"worker": {"init": init}})
    assert found.keys() == (set() if allowed else {"roles.worker.init[0].image"})
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(cluster, **right, roles=patch)
    assert found.keys() == (set() if allowed else {"roles.worker.pod_overrides"})
    sidecar = {
        "job": {"spec": {"tasks": {"worker": {"template": {"spec": {"containers": {"log": {"image": reference}}}}}}}}
    }
    assert (reasons(cluster, **right, manifest_overrides=sidecar) == {}) is allowed


@pytest.mark.parametrize("reference", ["change-me", "a.b/c/change-me:1", "localhost:5000/change-me@sha256:" + "0" * 64])
def test_the_placeholder_in_a_patch(reference: str) -> None:
    """As in the fields of the experiment, which the models refuse; also where the environment limits nothing."""
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", roles=patch)
    assert found == {"roles.worker.pod_overrides": "is the placeholder that `trainform new` writes"}
    init = {"worker": {"pod_overrides": {"spec": {"initContainers": [{"name": "data", "image": reference}]}}}}
    assert reasons(limited(), image="a.b/c:1", roles=init).keys() == {"roles.worker.pod_overrides"}
    tasks = {"worker": {"template": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", manifest_overrides={"job": {"spec": {"tasks": tasks}}})
    assert set(found.values()) == {"is the placeholder that `trainform new` writes"}
    other = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": "change-me/app:1"}}}}}}
    assert reasons(limited(), image="a.b/c:1", roles=other) == {}


def test_an_image_is_told_by_the_step_it_was_written_in() -> None:
    """Steps of `prepare` and a role's own init containers stand in one list of the pod."""
    steps = [{"name": "code", "image": "localhost:5000/git", "command": ["true"], "roles": ["chief"]}]
    steps += [{"name": "warm-up", "image": "python:3.12", "command": ["true"]}]
    init = [{"name": "data", "image": "localhost:5000/data", "command": ["true"]}]
    init += [{"name": "fetch", "image": "busybox:1.37", "command": ["true"]}]
    roles = {"chief": {"replicas": 1}, "worker": {"replicas": 1, "init": init}}
    found = reasons(limited(registries=REGISTRIES), image="localhost:5000/pytorch", prepare=steps, roles=roles)
    assert found.keys() == {"prepare[1].image", "roles.worker.init[1].image"}


def test_each_wrong_image_is_told_once() -> None:
    roles = {name: {"replicas": 1} for name in ("master", "worker", "chief")}
    assert reasons(limited(registries=REGISTRIES), image="python:3.12", roles=roles).keys() == {"image"}


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("python", "docker.io/library/python"), ("ai/pytorch:2", "docker.io/ai/pytorch:2"), ("localhost/x", "localhost/x"),
        ("a.b/x", "a.b/x"), ("a:5000/x", "a:5000/x"), ("python:3.12", "docker.io/library/python:3.12"),
    ],
)  # fmt: skip
def test_qualified(reference: str, full: str) -> None:
    assert qualified(reference) == full


def test_digests() -> None:
    cluster = limited(require_digest=True)
    assert reasons(cluster) == {"image": "is not pinned by digest, which the environment requires"}
    assert reasons(cluster, image="python@sha256:" + "0" * 64) == {}


def workers(replicas: int, count: int = 8, **role: Any) -> dict[str, Any]:
    return {"worker": {"replicas": replicas, "accelerators": {"a800": count}, **role}}


def test_more_than_the_environment_allows() -> None:
    assert reasons(limited(max_accelerators=16), roles=workers(2)) == {}
    told = {"roles": "ask for 24 accelerators together; the environment allows 16"}
    assert reasons(limited(max_accelerators=16), roles=workers(3)) == told
    assert reasons(limited(max_accelerators=0)) == {}


def test_a_patch_cannot_ask_for_more_accelerators() -> None:
    more = {
        "containers": {
            "main": {"resources": {"limits": {"nvidia.com/gpu": "64"}, "requests": {"nvidia.com/gpu": "64"}}}
        }
    }
    found = overridden(more, limited(max_accelerators=16))
    assert found == {
        "roles": "ask for 128 accelerators together; the environment allows 16",
        "roles.worker.pod_overrides": "is more than a node has (4 l40s)",
    }


@pytest.mark.parametrize(
    ("resource", "quantity", "reason"),
    [
        ("baidu.com/a800_80g_cgpu", 9, "is more than a node has (8 a800)"),
        ("cpu", "129", "is more cpu than a node with a800 has (128)"),
        ("memory", "1025Gi", "is more memory than a node with a800 has (1Ti)"),
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


def test_accelerators_have_a_field_of_their_own() -> None:
    assert reasons(roles={"worker": {"resources": {"nvidia.com/gpu": 4}}}) == {
        "roles.worker.resources.nvidia.com/gpu": "has a field of its own"
    }


def test_more_than_a_node_has() -> None:
    small = environment(accelerators={"a800": {**A800["a800"], "cpu": 96, "memory": "800Gi"}})
    assert reasons(small, roles=workers(1, 8, cpu=96, memory="800Gi")) == {}
    assert reasons(small, roles=workers(1, 9, cpu="96001m", memory="800001Mi", min_available=1)) == {
        "roles.worker.accelerators.a800": "is more than a node has (8 a800)",
        "roles.worker.cpu": "is more than a node with a800 has (96)",
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
        told = f"need {needed} nodes with a800 at once; the environment has {needed - 1}"
        assert reasons(nodes(needed - 1), roles=roles) == {"roles": told}


def test_more_than_the_nodes_hold_where_pods_share_them() -> None:
    kinds = {"a800": {**A800["a800"], "nodes": 2}}
    open_, limit = (
        environment(accelerators=kinds, queues={}, limits=limits) for limits in ({}, {"max_accelerators": 99})
    )
    two = {**workers(8, 2), "extra": {"replicas": 1, "ranked": False, "command": ["eval"], "accelerators": {"a800": 1}}}
    assert reasons(limit, roles=workers(8, 2)) == reasons(open_, roles=workers(8, 2)) == {}
    assert reasons(limit, roles=two) == {"roles": "need 17 a800 at once; the environment has 16"}
    later = {**two, "extra": {**two["extra"], "min_available": 0}}
    assert reasons(limit, roles=later) == {}
    assert reasons(open_, roles=later) == {"roles": "ask for 17 a800 together; the environment has 16"}


def test_a_queue_that_is_too_small() -> None:
    cluster = environment(
        queues={"night": {"capability": {"a800": 16}}, "day": {"capability": {"baidu.com/a800_80g_cgpu": 8}}}
    )
    assert reasons(cluster, queue="night", roles=workers(2)) == {}
    assert reasons(cluster, queue="night", roles=workers(3)) == {
        "queue": "has a capability of 16 a800, and the gang needs 24 at once"
    }
    assert reasons(cluster, queue="day", roles=workers(2)) == {
        "queue": "has a capability of 8 a800, and the gang needs 16 at once"
    }
    assert reasons(cluster, queue="night", roles=workers(3, min_available=2)) == {}
    assert reasons(cluster, queue={"capability": {"a800": 8}}, roles=workers(2)).keys() == {"queue"}
    assert reasons(cluster, roles=workers(8)) == {}


def test_secrets_in_patches() -> None:
    spec = {"containers": {"main": {"env": {"HF_TOKEN": {"value": "hf_wJalrXUtnFEMI"}}}}}
    assert overridden(spec, limited()).keys() == {"roles.worker.pod_overrides.env.HF_TOKEN"}
    right = {
        "containers": {"main": {"env": {"HF_TOKEN": {"valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}}}}
    }
    assert overridden(right, limited()) == {}


def test_a_patch_cannot_put_a_literal_in_the_place_of_a_secret() -> None:
    env = {"WANDB_API_KEY": {"secret": {"name": "wandb", "key": "api-key"}}}
    literal = {"containers": {"main": {"env": {"WANDB_API_KEY": {"value": "8d1f0c6b2e", "valueFrom": None}}}}}
    assert overridden(literal, limited(), env=env).keys() == {"roles.worker.pod_overrides.env.WANDB_API_KEY"}
    listed = {"containers": {"main": {"env": [{"name": "WANDB_API_KEY", "value": "8d1f0c6b2e"}]}}}
    assert overridden(listed, limited(), env=env).keys() == {"roles.worker.pod_overrides.env.WANDB_API_KEY"}
    assert overridden({"terminationGracePeriodSeconds": 60}, limited(), env=env) == {}
    written = {"WANDB_API_KEY": "8d1f0c6b2e"}
    assert overridden({"terminationGracePeriodSeconds": 60}, limited(), env=written).keys() == {
        "roles.worker.env.WANDB_API_KEY"
    }, "once"
