"""Experiments of every launcher, with the operators that take them."""

from __future__ import annotations

from typing import Any

from tests.support import app_wrapper
from tests.support.samples import environment, fitting
from trainform.backends.backend import BACKENDS

CLUSTER = environment(
    limits={
        "host_network": True,
        "pod_security": "privileged",
        "host_paths": ["/mnt/disks"],
        "job_managers": ["kueue.x-k8s.io/multikueue"],
        "cache_backends": True,
    },
    priority_classes={"urgent": {"value": 1}},
)
POOL: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 8}},
    "worker": {"replicas": 2, "cpu": {"request": 4, "limit": 8}},
}
SSH: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
NODE: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {}, "worker": {"replicas": 2}},
}
ONE_ROLE: dict[str, Any] = {"launcher": {"mpi": {"command": ["/app/train"]}}, "roles": {"worker": {"replicas": 3}}}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 2}},
}
RICH: dict[str, Any] = {
    "roles": POOL,
    "storage": {
        "runs": {"size": "2Ti", "mount": "/mnt/output"},
        "disk": {"host_path": "/mnt/disks/0", "mount": "/disk"},
        "cache": {"scratch": "500Gi", "mount": "/cache"},
        "nccl": {"config_map": "nccl", "mount": "/etc/nccl"},
        "hub": {"secret": "hub", "mount": "/etc/hub"},
    },
    "files": {"/workload/launch.sh": {"text": "exec true"}},
    "queue": {"weight": 2},
    "shared_memory": "unlimited",
    "priority_class": "urgent",
    "prepare": [{"name": "fetch", "command": ["fetch"]}],
}
HOST = {"network": {"host": True}, "roles": POOL}
EACH_ITS_OWN = {**TENSORFLOW, "network": {"host": True, "ports": "per-replica"}}
BEHIND = {"roles": POOL, "network": {"addresses": "service"}}
# The operators that take each of the experiments.
JOBS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (RICH, (*BACKENDS, app_wrapper.NAME)),
    (HOST, tuple(BACKENDS)),
    (TENSORFLOW, tuple(BACKENDS)),
    (SSH, ("volcano", "jobset", "trainer", "kubeflow")),
    (NODE, ("volcano", "jobset", "trainer")),
    (EACH_ITS_OWN, ("volcano", "jobset", "trainer")),
    (BEHIND, ("volcano", "jobset", "trainer", "kubeflow", "kubernetes")),
    (ONE_ROLE, ("kubernetes",)),
]
EVERYWHERE = [
    ({**parts, "roles": fitting(backend, parts["roles"])}, backend) for parts, backends in JOBS for backend in backends
]
