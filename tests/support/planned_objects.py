"""Experiments of every launcher with the operators that take them, and what the operators make of them with merge patches and without."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from tests.support import app_wrapper
from tests.support.generated_patches import Way, ways
from tests.support.samples import environment, experiment
from trainform.backends.table import BACKENDS
from trainform.manifests.manifest import Manifest, override_key
from trainform.objects import draft_plan, job_manifests
from trainform.plan.model import Plan
from trainform.spec.environment import Environment

CLUSTER = environment(
    limits={"host_network": True, "pod_security": "privileged"}, priority_classes={"urgent": {"value": 1}}
)
POOL: dict[str, Any] = {"master": {"replicas": 1, "accelerators": {"a800": 8}}, "worker": {"replicas": 2}}
SSH: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
NODE: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {}, "worker": {"replicas": 2}},
}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 2}},
}
RICH: dict[str, Any] = {
    "roles": POOL,
    "storage": {"runs": {"size": "2Ti", "mount": "/mnt/output"}},
    "queue": {"weight": 2},
    "shared_memory": "20Gi",
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
    (BEHIND, ("volcano", "jobset", "trainer", "kubeflow")),
]
EVERYWHERE = [(parts, backend) for parts, backends in JOBS for backend in backends]

# What a patch may change of what is rendered, by the end of its place: the plan says nothing of it, or reads it again after the patch, or the
# environment's rules judge it in what is rendered.
OPEN = {
    "fsGroup", "image", "imagePullPolicy", "imagePullSecrets", "nodeSelector", "priorityClassName", "requests", "runAsUser",
    "securityContext", "serviceAccountName", "tolerations",  # of pods
    "activeDeadlineSeconds", "cleanPodPolicy", "groupName", "minSuccess", "operator", "restartStrategy", "successPolicy",
    "startupPolicyOrder", "suspend", "targetReplicatedJobs",  # of jobs
    "runs", "storageClassName",  # of claims: a review says what becomes of data
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Planned:
    """What an experiment becomes, with a revision that does not depend on it."""

    plan: Plan
    manifests: list[Manifest]

    @classmethod
    def of(cls, backend: str, cluster: Environment = CLUSTER, **parts: Any) -> Planned:
        plan = draft_plan(experiment(backend=backend, **parts), cluster)
        return cls(plan, job_manifests(plan))

    def objects(self) -> dict[str, Any]:
        """The objects, and the pods that the operator makes of them."""
        pods, config_maps = BACKENDS[self.plan.backend].pods(self.plan, self.manifests)
        made = {f"pod {pod['metadata']['name']}": as_seen(pod) for pod in pods}
        return (
            {override_key(each): without_pods(each.body) for each in self.manifests}
            | made
            | {"config maps": config_maps}
        )


def as_seen(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod with each variable once: a container sees the last of a name."""
    spec = dict(pod["spec"])
    for kind in {"containers", "initContainers"} & spec.keys():
        spec[kind] = [
            {**each, "env": [*{entry["name"]: entry for entry in each.get("env", [])}.values()]} for each in spec[kind]
        ]
    return {**pod, "spec": spec}


def without_pods(value: Any) -> Any:
    """The object without its pod templates, of which the operator makes pods."""
    if isinstance(value, list):
        return [without_pods(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_pods(item)
        for key, item in value.items()
        if not (isinstance(item, dict) and isinstance(item.get("spec"), dict) and "containers" in item["spec"])
    }


def leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Every value that is no mapping, with its place; items of lists by their names."""
    inner = list(ways(value)) if isinstance(value, dict | list) else []
    below = [step for step in inner if len(step) == 1]
    if not below:
        yield way, value
    for (key,) in below:
        item = value[key] if isinstance(value, dict) else next(each for each in value if each["name"] == key)
        yield from leaves(item, (*way, key))


def is_open(way: Way) -> bool:
    return not OPEN.isdisjoint(way) or way[:2] == ("queue", "spec")


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[Way]:
    """The places of the plan's that are otherwise."""
    assert before.keys() == after.keys()
    found = dict(leaves(after))
    return {
        way
        for way, value in leaves(before)
        if not is_open(way) and way[-1] != "trainform.dev/overrides" and (way not in found or found[way] != value)
    }
