"""The settings of a sandbox as plain data, and how they follow from an environment."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from trainform.defaults import NODE_CPU, NODE_MEMORY, VOLCANO

if TYPE_CHECKING:
    from trainform.spec.environment import Environment
    from trainform.spec.roles import Toleration

CPU_POOL = "cpu"
CPU_NODES = 2
PODS_PER_NODE = "110"
ACCELERATORS_PER_NODE = 8  # of a node whose size the environment does not know
# Every real node has some. Pods that request it (the training operator's MPI launchers) could not be placed without it.
EPHEMERAL_STORAGE = "1Ti"
POOL_LABEL = "trainform.dev/pool"
ACCELERATOR_LABEL = "trainform.dev/accelerator"


class Taint(Struct, frozen=True, order=True):
    """A taint: pods that do not tolerate it are not placed on the node."""

    key: str
    value: str
    effect: str


class NodePool(Struct, frozen=True):
    """Equal nodes, named `<name>-<i>`. `resources` are both capacity and allocatable of each node."""

    name: str
    count: int
    resources: Mapping[str, str]
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()


class SandboxSettings(Struct, frozen=True):
    """The settings of one sandbox."""

    folder: Path
    pools: tuple[NodePool, ...] = ()
    storage_classes: tuple[str, ...] = ()  # in addition to the default class
    contexts: tuple[str, ...] = ()  # more names for the sandbox in its kubeconfig
    addons: tuple[str, ...] = ()  # names from the table of add-ons, as `chosen_addons` returns them
    gangs: bool = True  # operators that have an option for gangs make gangs of Volcano
    mpi_job: str = "v2beta1"  # as in an environment
    real: int | None = None  # number of nodes that run as containers; None: as before
    folders: Mapping[str, str] = {}  # of this machine, by their name in FOLDERS of each real node
    published: bool = platform.system() != "Linux"  # only Linux reaches a container at its address, others at a port


def default_pools() -> tuple[NodePool, ...]:
    """Return the pool of nodes without accelerators, which every sandbox has."""
    return (NodePool(CPU_POOL, CPU_NODES, _resources(NODE_CPU, NODE_MEMORY)),)


def _resources(cpu: str, memory: str) -> dict[str, str]:
    return {"cpu": cpu, "memory": memory, "pods": PODS_PER_NODE, "ephemeral-storage": EPHEMERAL_STORAGE}


def settings_from_environment(environment: Environment, folder: Path) -> SandboxSettings:
    """Return settings for a sandbox with the environment's nodes, labels, taints, storage classes and context."""
    kinds = environment.accelerators
    pools = [_accelerator_pool(environment, kind) for kind in kinds]
    labels = dict(environment.node_selector)
    taints = _taints(environment.tolerations)
    name = f"{CPU_POOL}-only" if CPU_POOL in kinds else CPU_POOL
    pools += [structs.replace(pool, name=name, labels=labels, taints=taints) for pool in default_pools()]
    context = environment.cluster.context
    return SandboxSettings(
        folder=folder,
        pools=tuple(pools),
        storage_classes=tuple(sorted(set(environment.storage_classes.values()))),
        contexts=() if context is None else (context,),
        gangs=environment.admission == VOLCANO,
        mpi_job=environment.mpi_job,
    )


def _accelerator_pool(environment: Environment, kind: str) -> NodePool:
    accelerator = environment.accelerators[kind]
    resources = _resources(accelerator.cpu, accelerator.memory)
    resources[accelerator.resource] = str(accelerator.per_node or ACCELERATORS_PER_NODE)
    if environment.rdma is not None:
        resources[environment.rdma.resource] = str(environment.rdma.per_node)
    labels = {ACCELERATOR_LABEL: kind, **environment.node_selector, **accelerator.node_selector}
    taints = _taints([*environment.tolerations, *accelerator.tolerations])
    return NodePool(kind, 1 if accelerator.nodes is None else accelerator.nodes, resources, labels, taints)


def _taints(tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """Return the taints that the tolerations are for; a toleration without a key stands for no taint."""
    keyed = [each for each in tolerations if each.key is not None]
    return tuple(sorted({Taint(str(each.key), each.value or "", each.effect or "NoSchedule") for each in keyed}))
