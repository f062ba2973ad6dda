"""Promised defaults. A change here is a change of what files mean that nobody has edited: it belongs into the changelog."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tests.test_field_texts import MODELS
from trainform.catalog import defaults
from trainform.spec import Environment

# Field -> default; a section that is left out is an empty one.
PROMISED: dict[str, Any] = {
    "Accelerate.args": [],
    "Accelerate.launcher_args": [],
    "Accelerate.processes_per_node": None,
    "Accelerate.rdzv_backend": "static",
    "Accelerator.cpu": "128",
    "Accelerator.memory": "1Ti",
    "Accelerator.node_selector": {},
    "Accelerator.tolerations": [],
    "Accelerator.price_per_hour": None,
    "ClaimRequest.storage_class": None,
    "ClaimRequest.access_modes": ["ReadWriteMany"],
    "ClaimRequest.keep": False,
    "Cluster.context": None,
    "Deepspeed.args": [],
    "Deepspeed.launcher_args": [],
    "Deepspeed.processes_per_node": None,
    "Deepspeed.role": None,
    "EnvSource.secret": None,
    "EnvSource.config_map": None,
    "EnvSource.field": None,
    "Environment.backend": "volcano",
    "Environment.admission": "volcano",
    "Environment.cluster": "Cluster()",
    "Environment.queues": {},
    "Environment.priority_classes": {},
    "Environment.claims": {},
    "Environment.accelerators": {},
    "Environment.rdma": None,
    "Environment.storage_classes": {},
    "Environment.ports": "20000-30000",
    "Environment.image_pull_secrets": [],
    "Environment.node_selector": {},
    "Environment.tolerations": [],
    "Environment.limits": "Limits()",
    "EnvironmentQueue.weight": 1,
    "EnvironmentQueue.capability": {},
    "EnvironmentQueue.deserved": {},
    "EnvironmentQueue.guarantee": {},
    "EnvironmentQueue.reclaimable": True,
    "EnvironmentQueue.parent": "root",
    "EnvironmentQueue.priority": 0,
    "EnvironmentQueue.create": True,
    "Experiment.backend": None,
    "Experiment.runtime": None,
    "Experiment.image_pull_policy": "IfNotPresent",
    "Experiment.image_pull_secrets": [],
    "Experiment.network": "Network()",
    "Experiment.storage": {},
    "Experiment.prepare": [],
    "Experiment.ssh": None,
    "Experiment.run_as": None,
    "Experiment.shared_memory": None,
    "Experiment.queue": "default",
    "Experiment.priority_class": None,
    "Experiment.restart": None,
    "Experiment.max_retry": 3,
    "Experiment.policies": None,
    "Experiment.ttl": None,
    "Experiment.service_account": None,
    "Experiment.env": {},
    "Experiment.node_selector": {},
    "Experiment.tolerations": [],
    "Experiment.labels": {},
    "Experiment.annotations": {},
    "Experiment.manifest_overrides": {},
    "GitCheckout.key": None,
    "GitCheckout.known_hosts": [],
    "InitContainer.image": None,
    "InitContainer.env": {},
    "Launcher.torchrun": None,
    "Launcher.accelerate": None,
    "Launcher.deepspeed": None,
    "Launcher.mpi": None,
    "Launcher.tensorflow": None,
    "Launcher.command": None,
    "Limits.max_accelerators": None,
    "Limits.host_network": False,
    "Limits.privileged": False,
    "Limits.registries": [],
    "Limits.require_digest": False,
    "Mpi.launcher_args": [],
    "Mpi.processes_per_node": None,
    "Mpi.role": None,
    "Namespace.create": False,
    "Network.host": False,
    "Network.rdma": False,
    "Network.port": None,
    "Network.addresses": "pod",
    "Network.ports": "shared",
    "Network.wait": "10m",
    "Network.topology": None,
    "OwnQueue.weight": 1,
    "OwnQueue.capability": {},
    "OwnQueue.deserved": {},
    "OwnQueue.guarantee": {},
    "OwnQueue.reclaimable": True,
    "OwnQueue.parent": "root",
    "OwnQueue.priority": 0,
    "OwnQueue.name": None,
    "Policy.event": None,
    "Policy.exit_code": None,
    "Policy.timeout": None,
    "PriorityClass.preempt": True,
    "PriorityClass.description": None,
    "Rdma.count": 1,
    "Rdma.per_node": 1,
    "Rdma.capabilities": ["IPC_LOCK"],
    "Role.replicas": 1,
    "Role.ranked": True,
    "Role.min_available": None,
    "Role.image": None,
    "Role.command": None,
    "Role.accelerators": {},
    "Role.cpu": None,
    "Role.memory": None,
    "Role.resources": {},
    "Role.shared_memory": None,
    "Role.env": {},
    "Role.init": [],
    "Role.restart": None,
    "Role.max_retry": None,
    "Role.policies": None,
    "Role.node_selector": {},
    "Role.tolerations": [],
    "Role.labels": {},
    "Role.annotations": {},
    "Role.pod_overrides": {},
    "Runtime.kind": "ClusterTrainingRuntime",
    "Runtime.file": None,
    "RunAs.group": None,
    "RunAs.home": "/root",
    "Ssh.secret": None,
    "Ssh.rotation": 1,
    "Ssh.port": None,
    "Ssh.roles": None,
    "Step.git": None,
    "Step.command": None,
    "Step.image": None,
    "Step.env": {},
    "Step.roles": None,
    "Tensorflow.task_types": {},
    "Toleration.key": None,
    "Toleration.operator": "Equal",
    "Toleration.value": None,
    "Toleration.effect": None,
    "Toleration.toleration_seconds": None,
    "Topology.mode": "hard",
    "Topology.highest_tier": None,
    "Topology.highest_tier_name": None,
    "Torchrun.args": [],
    "Torchrun.launcher_args": [],
    "Torchrun.processes_per_node": None,
    "Torchrun.elastic": None,
    "Torchrun.max_restarts": 0,
    "Volume.claim": None,
    "Volume.size": None,
    "Volume.storage_class": None,
    "Volume.access_modes": ["ReadWriteMany"],
    "Volume.keep": False,
    "Volume.sub_path": None,
    "Volume.read_only": False,
    "Volume.roles": None,
}
FIXED = {
    "BACKEND": "volcano",
    "QUEUE": "default",
    "ROOT_QUEUE": "root",
    "RENDEZVOUS_PORT": 29500,
    "HOST_PORTS": "20000-30000",
    "SHARED_MEMORY_MOUNT": "/dev/shm",  # noqa: S108
    "LAUNCH_MOUNT": "/etc/trainform",
    "DEEPSPEED_MOUNT": "/job",
    "HOSTFILE": "hostfile",
    "SSH_FOLDER": "/root/.ssh",
    "SSH_PORT": 22,
    "SSH_PORT_OF_USERS": 2022,
    "TENSORFLOW_PORT": 2222,
    "WAIT": "10m",
    "MAX_RETRY": 3,
    "LAST_RUN": 999_999_999,
    "REVISION_DIGITS": 6,
    "NODE_CPU": "128",
    "NODE_MEMORY": "1Ti",
    "LABEL_PREFIX": "trainform.dev/",
    "MANAGED_BY": {"app.kubernetes.io/managed-by": "trainform"},
}


def spelled(value: Any) -> Any:
    return f"{type(value).__name__}()" if isinstance(value, BaseModel) else value


def test_fields() -> None:
    found = {
        f"{model.__name__}.{name}": spelled(field.get_default())
        for model in MODELS
        for name, field in model.model_fields.items()
        if not field.is_required()
    }
    assert found == PROMISED


def test_fixed_names_and_numbers() -> None:
    assert {name: getattr(defaults, name) for name in FIXED} == FIXED


def test_the_smallest_environment() -> None:
    small = Environment.model_validate({"name": "lab", "namespace": {"name": "team-vision"}})
    assert small.port_range == (20000, 30000)
    assert (small.limits.host_network, small.limits.privileged, small.limits.require_digest) == (False, False, False)
    assert small.namespace.create is False


def test_defaults_are_not_shared() -> None:
    """One environment's empty mapping must not become another's."""
    one, other = (Environment.model_validate({"name": "lab", "namespace": {"name": "team-vision"}}) for _ in range(2))
    assert one.queues is not other.queues
