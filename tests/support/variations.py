"""Another value for every field of both files: what a change of each one does is measured with these."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator
from typing import Any

from tests.support.samples import JOB

ABSENT: Any = object()
"""In place of another value: the field is removed."""

_SOURCES: dict[str, Any] = {
    "A": {"secret": {"name": "one", "key": "one"}},
    "B": {"config_map": {"name": "one", "key": "one"}},
    "C": {"field": "status.podIP"},
}
_OTHER_SOURCES: dict[str, Any] = {
    "A.secret": {"name": "two", "key": "two"},
    "A.secret.name": "two",
    "A.secret.key": "two",
    "B.config_map": {"name": "two", "key": "two"},
    "B.config_map.name": "two",
    "B.config_map.key": "two",
    "C.field": "status.hostIP",
}
_TOLERATION = {"key": "gpu", "value": "only", "effect": "NoExecute", "toleration_seconds": 60}
_OTHER_TOLERATION: dict[str, Any] = {"0.key": "other", "0.value": "other", "0.toleration_seconds": 61}
_POLICIES = [{"action": "RestartJob", "event": "PodPending", "timeout": "5m"}, {"action": "AbortJob", "exit_code": 7}]
_OTHER_POLICIES: dict[str, Any] = {"0.action": "RestartPod", "0.event": "Unknown", "0.timeout": "6m", "1.exit_code": 8}
_OTHER_RESTART = {"when": "3 times", "exit_codes": [42, "128-255"], "ignore": "disruption"}
_OTHER_SCRIPT = {"script": "other.py", "args": ["--other"], "launcher_args": ["--other"], "processes_per_node": 2}
_GIT = {
    "repository": "git@git.example.com:vision/sdxl.git",
    "commit": "0" * 40,
    "path": "/code",
    "key": {"name": "one", "key": "one"},
    "known_hosts": ["git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"],
}
_ROLES: dict[str, Any] = {"worker": {"replicas": 2, "accelerators": {"a800": 8}}}
_EXTRA: dict[str, Any] = {
    **_ROLES,
    "watcher": {"replicas": 2, "ranked": False, "command": ["watch"], "min_available": 1},
}
_LAUNCHING: dict[str, Any] = {"launcher": {"ranked": False}, **_ROLES}
_TWO: dict[str, Any] = {"first": {}, "second": {"ranked": False, "command": ["watch"]}}


def _below(path: str, found: dict[str, Any]) -> dict[str, Any]:
    return {f"{path}.{rest}": value for rest, value in found.items()}


_WAIVER = {
    "rule": "TF-IMG-1",
    "finding": "0" * 16,
    "reason": "a mirror is on its way",
    "owner": "team-lead",
    "until": datetime.date(2026, 12, 31),
}

# Experiments, each with other values of some of its fields.
_EXPERIMENTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"roles": _ROLES},
        {
            "name": "other",
            "image": "registry.example.com/other:1",
            "image_pull_policy": "Always",
            "image_pull_secrets": ["other"],
            "launcher": {"torchrun": {"script": "/app/train.py"}},
            "launcher.command": ["python", "/app/other.py"],
            "roles": {"other": _ROLES["worker"]},
            "roles.worker.replicas": 3,
            "roles.worker.min_available": 1,
            "roles.worker.image": "registry.example.com/other:1",
            "roles.worker.command": ["other"],
            "roles.worker.accelerators": {"a800": 4},
            "roles.worker.cpu": 8,
            "roles.worker.memory": "1Gi",
            "roles.worker.resources": {"ephemeral-storage": "1Gi"},
            "roles.worker.shared_memory": "1Gi",
            "roles.worker.env": {"A": "1"},
            "roles.worker.init": [{"name": "first", "command": ["first"]}],
            "roles.worker.restart": "on-failure",
            "roles.worker.max_retry": 5,
            "roles.worker.policies": [],
            "roles.worker.working_dir": "/app",
            "roles.worker.grace_period": "5m",
            "roles.worker.node_selector": {"zone": "a"},
            "roles.worker.node_affinity": {"avoid": {"zone": ["b"]}},
            "roles.worker.tolerations": [_TOLERATION],
            "roles.worker.labels": {"team": "vision"},
            "roles.worker.annotations": {"team": "vision"},
            "roles.worker.pod_overrides": {"spec": {"enableServiceLinks": False}},
            "network": {"wait": "1m"},
            "network.host": True,
            "network.rdma": True,
            "network.port": 2000,
            "network.addresses": "service",
            "network.wait": "1m",
            "network.topology": {"highest_tier": 1},
            "storage": {"runs": {"size": "1Ti", "mount": "/runs"}},
            "prepare": [{"name": "fetch", "command": ["fetch"]}],
            "ssh": {},
            "run_as": {"user": 1000},
            "shared_memory": "1Gi",
            "queue": "vision",
            "priority_class": "urgent",
            "restart": "on-failure",
            "max_retry": 5,
            "policies": [],
            "ttl": "12h",
            "max_run_time": "72h",
            "service_account": "trainer",
            "env": {"A": "1"},
            "node_selector": {"zone": "a"},
            "tolerations": [_TOLERATION],
            "labels": {"team": "vision"},
            "annotations": {"team": "vision"},
            "manifest_overrides": {"job": {"metadata": {"labels": {"team": "vision"}}}},
            "environments": {"dev": {"env": {"NCCL_DEBUG": "INFO"}}},
        },
    ),
    (
        {
            "roles": {
                "worker": {
                    "cpu": {"request": 4, "limit": 8},
                    "memory": {"request": "4Gi", "limit": "8Gi"},
                    "resources": {"ephemeral-storage": {"request": "1Gi", "limit": "2Gi"}},
                }
            }
        },
        {
            "roles.worker.cpu": 8,
            "roles.worker.cpu.request": 6,
            "roles.worker.cpu.limit": ABSENT,
            "roles.worker.memory.request": "6Gi",
            "roles.worker.memory.limit": "16Gi",
            "roles.worker.resources.ephemeral-storage.request": "2Gi",
            "roles.worker.resources.ephemeral-storage.limit": "3Gi",
        },
    ),
    (
        {"roles": {"master": {}, "worker": {"replicas": 2}}, "ttl": "12h"},
        {
            "ttl": "1h",
            "roles.worker.replicas": 3,
            "image": "registry.example.com/other:1",
            "labels": {"team": "vision"},
        },
    ),
    (
        {
            "roles": {"master": {}, "worker": {"replicas": 2, "min_available": 2}},
            "ttl": "12h",
            "launcher": {"command": ["python", "/app/train.py", "--resume"]},
        },
        {
            "ttl": "1h",
            "roles.worker.min_available": 1,
            "roles.worker.replicas": 3,
            "image": "registry.example.com/other:1",
        },
    ),
    ({"roles": _ROLES}, {"manifest_overrides": {"launch-script": {"data": {"more.sh": "exec true"}}}}),
    (
        {"roles": _EXTRA},
        {
            "roles.watcher.replicas": 3,
            "roles.watcher.min_available": 2,
            "roles.watcher.ranked": True,
            "roles.watcher.command": ["other"],
        },
    ),
    (
        {"roles": {"master": {"replicas": 1}, "worker": {"replicas": 3}}, "backend": "kubeflow"},
        {"backend": "volcano", "roles.worker.replicas": 4, "roles.worker.min_available": 1, "clean_pods": "all"},
    ),
    (
        {"roles": _ROLES, "network": {"host": True, "rdma": True, "topology": {"mode": "hard", "highest_tier": 1}}},
        {"network.ports": "per-replica", "network.topology.mode": "soft", "network.topology.highest_tier": 2},
    ),
    ({"network": {"topology": {"highest_tier_name": "rack"}}}, {"network.topology.highest_tier_name": "spine"}),
    ({"env": _SOURCES}, _below("env", _OTHER_SOURCES)),
    ({"roles": {"worker": {"env": _SOURCES}}}, _below("roles.worker.env", _OTHER_SOURCES)),
    (
        {"roles": {"worker": {"init": [{"name": "first", "command": ["first"], "env": _SOURCES}]}}},
        {
            **_below("roles.worker.init.0.env", _OTHER_SOURCES),
            "roles.worker.init.0.name": "other",
            "roles.worker.init.0.image": "registry.example.com/other:1",
            "roles.worker.init.0.command": ["other"],
            "roles.worker.init.0.env": {"A": "1"},
        },
    ),
    (
        {"roles": {"worker": {"node_affinity": {"require": {"zone": ["a"]}}}}},
        {
            "roles.worker.node_affinity.require": {"zone": ["b"]},
            "roles.worker.node_affinity.avoid": {"zone": ["c"]},
            "roles.worker.node_affinity.prefer": {"disk": ["ssd"]},
        },
    ),
    (
        {"backend": "jobset", "restart": {"exit_codes": [42]}, "roles": {"worker": {"restart": {"exit_codes": [42]}}}},
        {f"roles.worker.restart.{field}": value for field, value in _OTHER_RESTART.items()},
    ),
    (
        {"backend": "jobset", "restart": {"exit_codes": [42]}},
        {f"restart.{field}": value for field, value in _OTHER_RESTART.items()},
    ),
    ({"policies": _POLICIES}, _below("policies", _OTHER_POLICIES)),
    ({"roles": {"worker": {"policies": _POLICIES}}}, _below("roles.worker.policies", _OTHER_POLICIES)),
    ({"tolerations": [_TOLERATION]}, _below("tolerations", _OTHER_TOLERATION)),
    ({"roles": {"worker": {"tolerations": [_TOLERATION]}}}, _below("roles.worker.tolerations", _OTHER_TOLERATION)),
    (
        {"tolerations": [{"key": "gpu"}], "roles": {"worker": {"tolerations": [{"key": "gpu"}]}}},
        {
            "tolerations.0.operator": "Exists",
            "tolerations.0.effect": "NoSchedule",
            "roles.worker.tolerations.0.operator": "Exists",
            "roles.worker.tolerations.0.effect": "NoSchedule",
        },
    ),
    (
        {
            "storage": {
                "models": {"claim": "models", "mount": "/models"},
                "runs": {"size": "1Ti", "class": "fast", "mount": "/runs"},
            }
        },
        {
            "storage.models.claim": "other",
            "storage.models.mount": "/other",
            "storage.models.sub_path": "other",
            "storage.models.read_only": True,
            "storage.models.roles": [],
            "storage.runs.size": "2Ti",
            "storage.runs.class": "archive",
            "storage.runs.access_modes": ["ReadWriteOnce"],
            "storage.runs.keep": True,
        },
    ),
    (
        {
            "storage": {
                "disk": {"host_path": "/mnt/disks/0", "mount": "/disk"},
                "cache": {"scratch": "500Gi", "mount": "/cache"},
                "nccl": {"config_map": "nccl", "mount": "/etc/nccl"},
                "hub": {"secret": "hub", "mount": "/etc/hub"},
            }
        },
        {
            "storage.disk.host_path": "/mnt/disks/1",
            "storage.cache.scratch": "1Ti",
            "storage.nccl.config_map": "other",
            "storage.hub.secret": "other",
        },
    ),
    (
        {"files": {"/etc/nccl": {"text": "NCCL_DEBUG=INFO"}, "/readme": {"file": "README.md"}}},
        {"files": {}, "files./etc/nccl.text": "NCCL_DEBUG=WARN", "files./readme.file": "CONTRIBUTING.md"},
    ),
    (
        {"prepare": [{"name": "fetch", "command": ["fetch"], "env": _SOURCES}, {"name": "code", "git": _GIT}]},
        {
            **_below("prepare.0.env", _OTHER_SOURCES),
            "prepare.0.name": "other",
            "prepare.0.command": ["other"],
            "prepare.0.image": "registry.example.com/other:1",
            "prepare.0.env": {"A": "1"},
            "prepare.0.roles": [],
            "prepare.0.on": "first-pod",
            "prepare.1.git": {**_GIT, "path": "/other"},
            "prepare.1.git.repository": "git@git.example.com:vision/other.git",
            "prepare.1.git.commit": "1" * 40,
            "prepare.1.git.path": "/other",
            "prepare.1.git.key": {"name": "two", "key": "one"},
            "prepare.1.git.key.name": "two",
            "prepare.1.git.key.key": "two",
            "prepare.1.git.known_hosts": [
                "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBE"
            ],
        },
    ),
    (
        {"ssh": {}, "run_as": {"user": 1000, "group": 1000, "home": "/home/one"}},
        {
            "ssh.secret": "keys",
            "ssh.rotation": 2,
            "ssh.port": 2222,
            "run_as.user": 1001,
            "run_as.group": 1001,
            "run_as.home": "/home/two",
        },
    ),
    ({"ssh": {}, "roles": _EXTRA}, {"ssh.roles": ["worker", "watcher"]}),
    (
        {"queue": {"weight": 1}},
        {
            "queue.name": "other",
            "queue.weight": 2,
            "queue.capability": {"a800": 64},
            "queue.deserved": {"a800": 8},
            "queue.reclaimable": False,
            "queue.parent": "vision",
            "queue.priority": 5,
        },
    ),
    ({"queue": {"deserved": {"a800": 8}}}, {"queue.guarantee": {"a800": 4}}),
    (
        {
            "roles": _ROLES,
            "launcher": {"torchrun": {"script": "train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}},
        },
        {
            "launcher.torchrun": {"script": "other.py"},
            **_below("launcher.torchrun", _OTHER_SCRIPT),
            "launcher.torchrun.elastic": ABSENT,
            "launcher.torchrun.elastic.min_nodes": 2,
            "launcher.torchrun.elastic.max_nodes": 5,
            "launcher.torchrun.max_restarts": 1,
            "roles.worker.replicas": 3,
        },
    ),
    (
        {"roles": _ROLES, "launcher": {"accelerate": {"script": "train.py"}}},
        {
            "launcher.accelerate": {"script": "other.py"},
            **_below("launcher.accelerate", _OTHER_SCRIPT),
            "launcher.accelerate.rdzv_backend": "c10d",
        },
    ),
    (
        {"roles": _LAUNCHING, "launcher": {"deepspeed": {"script": "train.py", "role": "launcher"}}},
        {
            "launcher.deepspeed": {"script": "other.py", "role": "launcher"},
            **_below("launcher.deepspeed", _OTHER_SCRIPT),
        },
    ),
    (
        {"roles": _LAUNCHING, "launcher": {"mpi": {"command": ["train"], "role": "launcher"}}},
        {
            "launcher.mpi": {"command": ["other"], "role": "launcher"},
            "launcher.mpi.command": ["other"],
            "launcher.mpi.launcher_args": ["--other"],
            "launcher.mpi.processes_per_node": 2,
        },
    ),
    (
        {
            "roles": {"launcher": {"replicas": 1, "ranked": False}, **_ROLES},
            "launcher": {"mpi": {"command": ["train"], "role": "launcher"}},
        },
        {"launcher.mpi.processes_per_node": 2, "roles.worker.replicas": 3},
    ),
    ({"roles": _TWO, "launcher": {"deepspeed": {"script": "train.py"}}}, {"launcher.deepspeed.role": "second"}),
    ({"roles": _TWO, "launcher": {"mpi": {"command": ["train"]}}}, {"launcher.mpi.role": "second"}),
    (
        {
            "roles": {"one": {}, "worker": {"replicas": 2}},
            "launcher": {"tensorflow": {"command": ["train"], "task_types": {"one": "chief"}}},
        },
        {
            "launcher.tensorflow": {"command": ["other"], "task_types": {"one": "chief"}},
            "launcher.tensorflow.command": ["other"],
            "launcher.tensorflow.task_types": {"one": "ps"},
            "roles.worker.replicas": 3,
        },
    ),
    (
        {"roles": _ROLES, "launcher": {"jax": {"command": ["train"]}}},
        {"launcher.jax": {"command": ["other"]}, "launcher.jax.command": ["other"]},
    ),
    ({"roles": _ROLES, "launcher": {"entrypoint": []}}, {"launcher.entrypoint": ["--other"]}),
    (
        {"roles": {**_ROLES, "watcher": {"ranked": False, "args": ["--watch"]}}},
        {"roles.watcher.args": ["--other"]},
    ),
    (
        {"backend": "trainer", "runtime": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"}},
        {
            "runtime": {"name": "other"},
            "runtime.name": "other",
            "runtime.kind": "TrainingRuntime",
            "runtime.file": "other.yaml",
            "image": "registry.example.com/other:1",
            "roles.worker.replicas": 3,
            "roles.worker.cpu": 8,
            "env": {"A": "1"},
        },
    ),
    (
        {"waivers": [_WAIVER], "owner": "ada@example.com"},
        {
            "owner": "grace@example.com",
            "waivers": [],
            "waivers.0.rule": "TF-IMG-2",
            "waivers.0.finding": "1" * 16,
            "waivers.0.reason": "another one",
            "waivers.0.owner": "other-lead",
            "waivers.0.until": datetime.date(2027, 1, 31),
        },
    ),
]


# What must change at the same time, lest the experiment be refused: a role that launches has no command of its own.
_TOGETHER: dict[str, tuple[str, Any]] = {
    "launcher.deepspeed.role": ("roles.second.command", ABSENT),
    "launcher.mpi.role": ("roles.second.command", ABSENT),
}


def variations() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Field, an experiment, and the same one with another value of the field."""
    for parts, others in _EXPERIMENTS:
        before = {**JOB, **parts}
        for path, value in others.items():
            after = changed(before, path, value)
            yield path, before, changed(after, *_TOGETHER[path]) if path in _TOGETHER else after


def changed(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the data with another value at a path such as `tolerations.0.key`; what is missing on the way is made."""
    data = copy.deepcopy(data)
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inside: Any = data
    for key in above:
        inside = inside[key] if isinstance(key, int) else inside.setdefault(key, {})
    if value is ABSENT:
        del inside[last]
    else:
        inside[last] = value
    return data
