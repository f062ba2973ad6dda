"""Experiments and environments as a user would write them; a test gives only what differs."""

from __future__ import annotations

from typing import Any

from tests.support.rendering import job_problems, plan_job
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.build import chosen_backend
from trainform.plan.layout import Layout, lay_out
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

# Two kinds of accelerators, everything allowed but privileges.
CLUSTER: dict[str, Any] = {
    "name": "dev",
    "namespace": {"name": "ai-namespace"},
    "queues": {"default": {"weight": 1}, "night": {"weight": 4, "capability": {"a800": 32}}},
    "accelerators": {
        "a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 8},
        "l40s": {"resource": "nvidia.com/gpu", "per_node": 4, "nodes": 4, "node_selector": {"pool": "l40s"}},
    },
    "rdma": {"resource": "rdma/hca"},
    "storage_classes": {"fast": "cephfs-ssd"},
    "limits": {"host_network": True, "service_accounts": ["trainer"]},
}
# The smallest experiment; `roles` is what most tests change.
JOB: dict[str, Any] = {
    "name": "sdxl-lora",
    "image": "registry.example.com/ai/pytorch-training:2.8",
    "launcher": {"command": ["python", "/app/train.py"]},
    "roles": {"worker": {"replicas": 2}},
}
# Reference case 2: WORLD_SIZE is 4, not 8.
WITH_EXTRAS: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 8}},
    "worker": {"replicas": 3, "accelerators": {"a800": 8}},
    "evaluation-watcher": {"replicas": 4, "ranked": False, "command": ["python", "watch.py"]},
}


def environment(**parts: Any) -> Environment:
    return Environment.model_validate({**CLUSTER, **parts})


def experiment(**parts: Any) -> Experiment:
    return Experiment.model_validate({**JOB, **parts})


def plan(run: int = 1, cluster: Environment | None = None, **parts: Any) -> Plan:
    return plan_job(experiment(**parts), environment() if cluster is None else cluster, run)


def fitting(backend: str, roles: dict[str, Any]) -> dict[str, Any]:
    """Return the roles; of a backend whose jobs have one role, the last of them with the pods of all."""
    if backend not in BACKENDS or not BACKENDS[backend].ONE_ROLE:
        return roles
    name, last = [*roles.items()][-1]
    return {name: {**last, "replicas": sum(role.get("replicas", 1) for role in roles.values())}}


def layout_of(made: Experiment, cluster: Environment | None = None, revision: str = "1f3a9c") -> Layout:
    """Return the layout under the names of the experiment's backend."""
    cluster = environment() if cluster is None else cluster
    backend = BACKENDS[chosen_backend(made, cluster)]
    return lay_out(made, cluster, revision, backend.naming(made, cluster), backend.groups(made))


def reasons(cluster: Environment | None = None, **parts: Any) -> dict[str, str]:
    """Return the reason of every problem, by path."""
    found = job_problems(experiment(**parts), environment() if cluster is None else cluster)
    return {problem.path: problem.reason for problem in found}


def job(made: Plan) -> dict[str, Any]:
    """Return the rendered job object."""
    return next(manifest.body for manifest in job_manifests(made) if manifest.key == "job")


def pod(made: Plan, role: str) -> dict[str, Any]:
    """Return the rendered pod template of a role."""
    template: dict[str, Any] = next(task for task in job(made)["spec"]["tasks"] if task["name"] == role)["template"]
    return template


def container(made: Plan, role: str) -> dict[str, Any]:
    """Return the rendered main container of a role."""
    main: dict[str, Any] = pod(made, role)["spec"]["containers"][0]
    return main


def env(made: Plan, role: str) -> dict[str, Any]:
    """Variables of the main container: text, or the source of a value."""
    return {
        entry["name"]: entry["valueFrom"] if "valueFrom" in entry else entry.get("value", "")
        for entry in container(made, role).get("env", [])
    }
