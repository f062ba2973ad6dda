"""Ways in which files grow, each with an experiment and an environment of any size: for the benchmark, and for the test that nothing takes
more than its share of time. What is accepted stands apart from what is refused, since to refuse must not take longer either."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]
Files = tuple[Data, Data]
Grow = Callable[[int], Files]

EXPERIMENT: Data = {
    "name": "sdxl-lora",
    "image": "registry.example.com/ai/pytorch-training:2.8",
    "launcher": {"command": ["python", "/app/train.py"]},
    "roles": {"master": {}, "worker": {}},
    "shared_memory": "1Gi",
}
ENVIRONMENT: Data = {
    "name": "dev",
    "namespace": {"name": "ai-namespace"},
    "accelerators": {"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 1_000_000}},
    "ports": "1-65535",
    "limits": {"host_network": True},
}
DEEPSPEED: Data = {"deepspeed": {"script": "/code/train.py"}}
MPI: Data = {"mpi": {"command": ["/app/all_reduce_perf"]}}
TENSORFLOW: Data = {"tensorflow": {"command": ["python", "/app/mnist.py"]}}
ELASTIC: Data = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 100_000}}}
OWN_PORTS: Data = {"host": True, "ports": "per-replica"}
SERVICES: Data = {"addresses": "service"}
COMMIT = "3f1c0e8a5d7b9246e0c4f8a1b2d3e4f5a6b7c8d9"


def grown_files(way: str, size: int, backend: str) -> Files:
    """The experiment and the environment as read from YAML."""
    experiment, environment = WAYS[way](size)
    return {**copy.deepcopy(EXPERIMENT), **experiment, "backend": backend}, {
        **copy.deepcopy(ENVIRONMENT),
        **environment,
    }


def _job(**parts: Any) -> Files:
    """A change of the experiment alone."""
    return parts, {}


def _cluster(**parts: Any) -> Files:
    """A change of the environment alone."""
    return {}, parts


def _named(stem: str, size: int, value: Callable[[int], Any]) -> Data:
    return {f"{stem}{number:05}": value(number) for number in range(size)}


def _roles(size: int, role: Callable[[int], Data] = lambda number: {}) -> Data:
    """Role groups; no name of one reads like a replica of another."""
    return _named("role-x", size, role)


def _role_names(size: int, stem: str = "role-x") -> list[str]:
    return [f"{stem}{number:05}" for number in range(size)]


def _worker(**fields: Any) -> Data:
    return {"master": {}, "worker": fields}


def _tensors(size: int) -> Data:
    return {"ps": {"replicas": size}, "worker": {"replicas": size}}


def _extra(number: int) -> Data:
    return {"ranked": False, "command": ["python", "/app/watch.py"], "cpu": "1", "memory": "1Gi"}


def _text(number: int) -> str:
    return f"value {number:05}"


def _label(number: int) -> str:
    return f"value-{number:05}"


def _init(name: str, **parts: Any) -> Data:
    return {"name": name, "command": ["true"], **parts}


def _step(number: int, **parts: Any) -> Data:
    return _init(f"step-{number:05}", **parts)


def _checkout(number: int, path: str) -> Data:
    git = {"repository": "https://git.example.com/ai/code.git", "commit": COMMIT, "path": path}
    return {"name": f"step-{number:05}", "git": git}


def _volume(number: int, **parts: Any) -> Data:
    return {"claim": f"claim-{number:05}", "mount": f"/mnt/{number:05}", **parts}


def _made(number: int, **parts: Any) -> Data:
    return {"size": "1Gi", "mount": f"/mnt/{number:05}", **parts}


def _kind(number: int) -> Data:
    return {"resource": f"example.com/r{number:05}", "per_node": 8, "nodes": 8}


def _same_kind(number: int) -> Data:
    return {"resource": "example.com/r", "per_node": 8, "nodes": 8, "node_selector": {"pool": f"p{number:05}"}}


def _exits(size: int) -> list[Data]:
    return [{"action": "RestartJob", "exit_code": number + 1} for number in range(size)]


def _in_main(size: int) -> Data:
    return {"spec": {"containers": {"main": {"env": _named("MORE_", size, lambda number: {"value": "patched"})}}}}


def _amounts(size: int) -> Data:
    return {field: _named("example.com/r", size, lambda number: 1) for field in ("capability", "deserved", "guarantee")}


ACCEPTED: dict[str, Grow] = {
    # replicas
    "replicas": lambda n: _job(roles=_worker(replicas=n), network={"host": True}),
    "replicas with ports of their own": lambda n: _job(roles=_worker(replicas=n), network=OWN_PORTS),
    "replicas with SSH": lambda n: _job(roles=_worker(replicas=n), network=OWN_PORTS, ssh={}),
    "nodes of DeepSpeed": lambda n: _job(launcher=DEEPSPEED, roles=_worker(replicas=n)),
    "DeepSpeed nodes with ports of their own": lambda n: _job(
        launcher=DEEPSPEED, roles=_worker(replicas=n), network=OWN_PORTS
    ),
    "nodes of MPI": lambda n: _job(launcher=MPI, roles=_worker(replicas=n)),
    "replicas of TensorFlow": lambda n: _job(launcher=TENSORFLOW, roles=_tensors(n)),
    "replicas of TensorFlow with ports of their own": lambda n: _job(
        launcher=TENSORFLOW, roles=_tensors(n), network=OWN_PORTS
    ),
    "Services": lambda n: _job(roles=_worker(replicas=n), network=SERVICES, ssh={}),
    "Services before TensorFlow": lambda n: _job(
        launcher=TENSORFLOW, roles=_tensors(n), network={**OWN_PORTS, **SERVICES}
    ),
    # roles
    "roles": lambda n: _job(roles=_roles(n)),
    "roles of an elastic job": lambda n: _job(launcher=ELASTIC, roles=_roles(n)),
    "roles with SSH": lambda n: _job(roles=_roles(n), ssh={}),
    "roles with Services": lambda n: _job(roles=_roles(n), network=SERVICES),
    "roles of DeepSpeed": lambda n: _job(launcher=DEEPSPEED, roles=_roles(n)),
    "extras": lambda n: _job(roles={**_named("extra-x", n, _extra), **_worker()}),
    "extras beside DeepSpeed": lambda n: _job(launcher=DEEPSPEED, roles={**_named("extra-x", n, _extra), **_worker()}),
    "extras with accelerators": lambda n: _job(
        roles={**_worker(), **_named("extra-x", n, lambda number: {**_extra(number), "accelerators": {"a800": 1}})}
    ),
    # variables
    "variables": lambda n: _job(env=_named("NAME_", n, _text)),
    "variables of a role": lambda n: _job(roles=_worker(env=_named("NAME_", n, _text))),
    "variables from a Secret": lambda n: _job(
        env=_named("NAME_", n, lambda number: {"secret": {"name": "wandb", "key": "key"}})
    ),
    "variables with references": lambda n: _job(
        env=_named("NAME_", n, lambda number: f"$(NAME_{number - 1:05}) more" if number else "first")
    ),
    "variables of an init container": lambda n: _job(
        roles=_worker(init=[_init("fetch", env=_named("NAME_", n, _text))])
    ),
    "variables of a step": lambda n: _job(prepare=[_step(0, env=_named("NAME_", n, _text))]),
    # what runs before, volumes
    "init containers": lambda n: _job(roles=_worker(init=[_init(f"init-{number:05}") for number in range(n)])),
    "steps": lambda n: _job(prepare=[_step(number) for number in range(n)]),
    "checkouts": lambda n: _job(prepare=[_checkout(number, f"/code/{number:05}") for number in range(n)]),
    "roles of a step": lambda n: _job(roles=_roles(n), prepare=[_step(0, roles=_role_names(n))]),
    "roles of a volume": lambda n: _job(roles=_roles(n), storage={"data": _volume(0, roles=_role_names(n))}),
    "volumes": lambda n: _job(storage=_named("volume-", n, _volume)),
    "volumes that are made": lambda n: _job(storage=_named("volume-", n, _made)),
    "a volume and a step for each role": lambda n: _job(
        roles=_roles(n),
        storage=_named("volume-", n, lambda number: _made(number, roles=[f"role-x{number:05}"])),
        prepare=[_step(number, roles=[f"role-x{number:05}"]) for number in range(n)],
    ),
    "policies": lambda n: _job(policies=_exits(n), roles=_worker(policies=_exits(n))),
    # further lists and mappings
    "tolerations": lambda n: _job(
        tolerations=[{"key": f"example.com/taint-{number:05}", "operator": "Exists"} for number in range(n)]
    ),
    "node selector": lambda n: _job(node_selector=_named("example.com/label-", n, _label)),
    "labels": lambda n: _job(
        labels=_named("example.com/job-", n, _label), roles=_worker(labels=_named("example.com/pod-", n, _label))
    ),
    "annotations": lambda n: _job(
        annotations=_named("example.com/job-", n, _text),
        roles=_worker(annotations=_named("example.com/pod-", n, _text)),
    ),
    "resources": lambda n: (
        {"roles": _worker(resources=_named("example.com/r", n, lambda number: 1))},
        {"limits": {"host_network": True, "resources": [*_named("example.com/r", n, str)]}},
    ),
    "pull secrets": lambda n: _job(image_pull_secrets=[f"registry-{number:05}" for number in range(n)]),
    "words": lambda n: _job(launcher={"command": ["python", *(f"--option-{number:05}=x" for number in range(n))]}),
    "text": lambda n: _job(launcher={"command": ["sh", "-c", "python /app/train.py --data /mnt; " * n]}),
    # the environment
    "queues": lambda n: _cluster(queues=_named("queue-", n, lambda number: {"capability": {"a800": 8}})),
    "queues below one": lambda n: _cluster(
        queues={
            "top": {"capability": {"a800": 8 * n, **_named("example.com/r", n, lambda number: 8)}},
            **_named("queue-", n, lambda number: {"parent": "top", "deserved": {"a800": 1}, "capability": {"a800": 8}}),
        }
    ),
    "queues in a line": lambda n: _cluster(
        queues={
            "queue-00000": {},
            **{f"queue-{number:05}": {"parent": f"queue-{number - 1:05}"} for number in range(1, n + 1)},
        }
    ),
    "kinds of accelerators": lambda n: _cluster(accelerators=_named("kind-", n, _kind)),
    "kinds of accelerators in use": lambda n: (
        {"roles": _roles(n, lambda number: {"accelerators": {f"kind-{number:05}": 1}})},
        {"accelerators": _named("kind-", n, _kind)},
    ),
    "kinds of one resource in use": lambda n: (
        {"roles": _roles(n, lambda number: {"accelerators": {f"kind-{number:05}": 1}})},
        {"accelerators": _named("kind-", n, _same_kind)},
    ),
    "storage classes in use": lambda n: (
        {"storage": _named("volume-", n, lambda number: _made(number, **{"class": f"class-{number:05}"}))},
        {"storage_classes": _named("class-", n, lambda number: f"ceph-{number:05}")},
    ),
    "claims and priority classes": lambda n: _cluster(
        claims=_named("claim-", n, lambda number: {"size": "1Gi"}),
        priority_classes=_named("class-", n, lambda number: {"value": number}),
    ),
    "registries in use": lambda n: (
        {"roles": _roles(n, lambda number: {"image": f"r{number:05}.example.com/ai/train:1"})},
        {"limits": {"registries": [f"r{number:05}.example.com/ai" for number in range(n)]}},
    ),
    # merge patches
    "patched variables": lambda n: _job(
        env=_named("NAME_", n, _text), roles=_worker(pod_overrides=_in_main(n), replicas=3)
    ),
    "patched volumes": lambda n: _job(
        roles=_worker(pod_overrides={"spec": {"volumes": _named("v", n, lambda number: {"emptyDir": {}})}})
    ),
    "patched labels": lambda n: _job(
        roles=_worker(pod_overrides={"metadata": {"labels": _named("example.com/pod-", n, _label)}})
    ),
    "patched roles": lambda n: _job(
        roles=_roles(n, lambda number: {"pod_overrides": {"spec": {"terminationGracePeriodSeconds": number}}})
    ),
    "patched replicas with ports of their own": lambda n: _job(
        roles=_worker(replicas=n, pod_overrides={"spec": {"terminationGracePeriodSeconds": 1}}), network=OWN_PORTS
    ),
    "patched claims": lambda n: _job(
        storage=_named("volume-", n, _made),
        manifest_overrides=_named("claim-volume-", n, lambda number: {"metadata": {"annotations": {"a": "b"}}}),
    ),
    "patched job": lambda n: _job(
        roles=_roles(n),
        manifest_overrides={"job": {"metadata": {"annotations": _named("example.com/job-", n, _text)}}},
    ),
}
REFUSED: dict[str, Grow] = {
    "roles of TensorFlow": lambda n: _job(
        launcher={"tensorflow": {"command": ["a"], "task_types": _named("role-x", n, lambda number: "worker")}},
        roles=_roles(n),
    ),
    "policies that stand twice": lambda n: _job(policies=_exits(n) * 2, roles=_worker(policies=_exits(n) * 2)),
    "unknown kinds": lambda n: (
        {"roles": _roles(n, lambda number: {"accelerators": {f"knd-{number:05}": 1}})},
        {"accelerators": _named("kind-", n, _kind)},
    ),
    "unknown storage classes": lambda n: (
        {"storage": _named("volume-", n, lambda number: _made(number, **{"class": f"far-{number:05}"}))},
        {"storage_classes": _named("class-", n, lambda number: f"ceph-{number:05}")},
    ),
    "unknown parents": lambda n: _cluster(queues=_named("queue-", n, lambda number: {"parent": f"queu-{number:05}"})),
    "unknown kinds in queues": lambda n: _cluster(
        queues=_named("queue-", n, lambda number: {"capability": {"A-8": 8}}), accelerators=_named("kind-", n, _kind)
    ),
    "unknown roles": lambda n: _job(
        roles=_roles(n),
        ssh={"roles": _role_names(n, "rol-x")},
        storage={"data": _volume(0, roles=_role_names(n, "rol-x"))},
        prepare=[_step(0, roles=_role_names(n, "rol-x"))],
    ),
    "unknown task types": lambda n: _job(
        launcher={"tensorflow": {"command": ["a"], "task_types": _named("rol-x", n, lambda number: "worker")}},
        roles=_roles(n),
    ),
    "unknown keys": lambda n: _job(roles=_roles(n, lambda number: {"replica": 1, "imagee": "a"})),
    "unknown objects": lambda n: _job(manifest_overrides=_named("claim-volume-", n, lambda number: {"spec": {}})),
    "wrong values": lambda n: _job(roles=_roles(n, lambda number: {"replicas": "1"}), env=_named("NAME_", n, int)),
    "secrets as text": lambda n: _job(
        env={f"WANDB_{number:05}_API_KEY": "abc" for number in range(n)},
        annotations={f"example.com/a{number:05}-token": "abc" for number in range(n)},
        launcher={"command": ["python", *(f"--token-{number:05}-password=abc" for number in range(n))]},
    ),
    "patched secrets": lambda n: _job(
        roles=_roles(n, lambda number: {"pod_overrides": {"metadata": {"annotations": {"my-token": "hunter2"}}}})
    ),
    "volumes at one path": lambda n: _job(storage=_named("volume-", n, lambda number: _volume(number, mount="/mnt"))),
    "volumes of one claim": lambda n: _job(storage=_named("volume-", n, lambda number: _volume(number, claim="data"))),
    "checkouts at one path": lambda n: _job(prepare=[_checkout(number, "/code") for number in range(n)]),
    "init containers of one name": lambda n: _job(roles=_worker(init=[_init("fetch") for number in range(n)])),
    "own queue among many": lambda n: (
        {"queue": {"parent": "top", **_amounts(n)}},
        {"queues": {"top": {"capability": {"a800": 8}}, **_named("queue-", n, lambda number: {"parent": "top"})}},
    ),
    "queues in a circle": lambda n: _cluster(
        queues={f"queue-{number:05}": {"parent": f"queue-{(number + 1) % n:05}"} for number in range(n)}
    ),
    "images of other registries": lambda n: (
        {"roles": _roles(n, lambda number: {"image": f"other{number:05}.example.com/ai/train:1"})},
        {"limits": {"registries": [f"r{number:05}.example.com/ai" for number in range(n)]}},
    ),
    "pods with privileges": lambda n: _job(
        roles=_roles(n, lambda number: {"pod_overrides": {"spec": {"hostPID": True}}})
    ),
    "labels that are ours": lambda n: _job(labels=_named("trainform.dev/label-", n, _label)),
    "patches of labels that wreck": lambda n: _job(
        roles=_worker(pod_overrides={"metadata": {"labels": _named("example.com/pod-", n, int)}})
    ),
    "patches of pods that wreck": lambda n: _job(roles=_roles(n, lambda number: {"pod_overrides": {"spec": None}})),
    "patches of names": lambda n: _job(
        storage=_named("volume-", n, _made),
        manifest_overrides=_named("claim-volume-", n, lambda number: {"metadata": {"name": "mine"}}),
    ),
    "patches of replicas": lambda n: _job(
        roles=_roles(n),
        manifest_overrides={"job": {"spec": {"tasks": _named("role-x", n, lambda number: {"replicas": 5})}}},
    ),
    "kinds of accelerators on the same nodes": lambda n: _cluster(
        accelerators=_named("kind-", n, lambda number: {"resource": "example.com/r", "per_node": 8, "nodes": 8})
    ),
}
WAYS = ACCEPTED | REFUSED
