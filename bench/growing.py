"""Ways in which files grow, each with an experiment and an environment of any size: for the benchmark, and for the test
that nothing takes more than its share of time. What is accepted stands apart from what is refused, since to refuse must
not take longer either."""

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
OWN_PORTS: Data = {"host": True, "ports": "per-replica"}
SERVICES: Data = {"addresses": "service"}


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


def _worker(**fields: Any) -> Data:
    return {"master": {}, "worker": fields}


def _extra(number: int) -> Data:
    return {"ranked": False, "command": ["python", "/app/watch.py"], "cpu": "1", "memory": "1Gi"}


def _text(number: int) -> str:
    return f"value {number:05}"


def _init(name: str, **parts: Any) -> Data:
    return {"name": name, "command": ["true"], **parts}


def _step(number: int, **parts: Any) -> Data:
    return _init(f"step-{number:05}", **parts)


def _made(number: int, **parts: Any) -> Data:
    return {"size": "1Gi", "mount": f"/mnt/{number:05}", **parts}


def _kind(number: int) -> Data:
    return {"resource": f"example.com/r{number:05}", "per_node": 8, "nodes": 8}


def _exits(size: int) -> list[Data]:
    return [{"action": "RestartJob", "exit_code": number + 1} for number in range(size)]


def _in_main(size: int) -> Data:
    return {"spec": {"containers": {"main": {"env": _named("MORE_", size, lambda number: {"value": "patched"})}}}}


ACCEPTED: dict[str, Grow] = {
    "replicas": lambda n: _job(roles=_worker(replicas=n), network={"host": True}),
    "replicas with ports of their own": lambda n: _job(roles=_worker(replicas=n), network=OWN_PORTS),
    "DeepSpeed nodes with ports of their own": lambda n: _job(
        launcher=DEEPSPEED, roles=_worker(replicas=n), network=OWN_PORTS
    ),
    "Services": lambda n: _job(roles=_worker(replicas=n), network=SERVICES, ssh={}),
    "roles": lambda n: _job(roles=_roles(n)),
    "extras": lambda n: _job(roles={**_named("extra-x", n, _extra), **_worker()}),
    "variables": lambda n: _job(env=_named("NAME_", n, _text)),
    "variables of a role": lambda n: _job(roles=_worker(env=_named("NAME_", n, _text))),
    "init containers": lambda n: _job(roles=_worker(init=[_init(f"init-{number:05}") for number in range(n)])),
    "steps": lambda n: _job(prepare=[_step(number) for number in range(n)]),
    "volumes that are made": lambda n: _job(storage=_named("volume-", n, _made)),
    "policies": lambda n: _job(policies=_exits(n), roles=_worker(policies=_exits(n))),
    "annotations": lambda n: _job(
        annotations=_named("example.com/job-", n, _text),
        roles=_worker(annotations=_named("example.com/pod-", n, _text)),
    ),
    "queues in a line": lambda n: _cluster(
        queues={
            "queue-00000": {},
            **{f"queue-{number:05}": {"parent": f"queue-{number - 1:05}"} for number in range(1, n + 1)},
        }
    ),
    "kinds of accelerators in use": lambda n: (
        {"roles": _roles(n, lambda number: {"accelerators": {f"kind-{number:05}": 1}})},
        {"accelerators": _named("kind-", n, _kind)},
    ),
    "patched variables": lambda n: _job(
        env=_named("NAME_", n, _text), roles=_worker(pod_overrides=_in_main(n), replicas=3)
    ),
    "patched roles": lambda n: _job(
        roles=_roles(n, lambda number: {"pod_overrides": {"spec": {"terminationGracePeriodSeconds": number}}})
    ),
}
REFUSED: dict[str, Grow] = {
    "unknown kinds": lambda n: (
        {"roles": _roles(n, lambda number: {"accelerators": {f"knd-{number:05}": 1}})},
        {"accelerators": _named("kind-", n, _kind)},
    ),
    "secrets as text": lambda n: _job(
        env={f"WANDB_{number:05}_API_KEY": "abc" for number in range(n)},
        annotations={f"example.com/a{number:05}-token": "abc" for number in range(n)},
        launcher={"command": ["python", *(f"--token-{number:05}-password=abc" for number in range(n))]},
    ),
}
WAYS = ACCEPTED | REFUSED
