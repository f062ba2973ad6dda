"""What a sandbox should offer, as plain data, and how an environment says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trainform.catalog.defaults import NODE_CPU, NODE_MEMORY
from trainform.errors import InputError, Problem

if TYPE_CHECKING:
    from trainform.spec.environment import Environment
    from trainform.spec.roles import Toleration

CPU_POOL = "cpu"
CPU_NODES = 2
PODS_PER_NODE = "110"
# Every real node offers some, and pods that ask for some (the training operator's MPI launchers) fit on no other.
EPHEMERAL_STORAGE = "1Ti"
POOL_LABEL = "trainform.dev/pool"
ACCELERATOR_LABEL = "trainform.dev/accelerator"
NODES_AT_MOST = 10_000


@dataclasses.dataclass(frozen=True, order=True)
class Taint:
    """Keeps pods away that do not tolerate it."""

    key: str
    value: str
    effect: str


@dataclasses.dataclass(frozen=True)
class NodePool:
    """Nodes of one shape, named `<name>-<i>`. `resources` is both capacity and allocatable of each node."""

    name: str
    count: int
    resources: Mapping[str, str]
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


@dataclasses.dataclass(frozen=True)
class SandboxSettings:
    """`storage_classes` are made beside the default one; `contexts` are further names for the sandbox in its kubeconfig.

    `addons`: names from the table of add-ons, as `chosen_addons` gives them.
    """

    folder: Path
    pools: tuple[NodePool, ...] = ()
    storage_classes: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    addons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = [*_repeated(pool.name for pool in self.pools), *_too_many(self.pools)]
        if problems:
            raise InputError(problems)


def _repeated(names: Iterable[str]) -> Iterable[Problem]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Problem(
                "pools", name, "names two pools, whose nodes would have the same names", "name each pool once"
            )
        seen.add(name)


def _too_many(pools: Iterable[NodePool]) -> Iterable[Problem]:
    nodes = sum(pool.count for pool in pools)
    if nodes > NODES_AT_MOST:
        reason = f"are more simulated nodes than one machine serves ({NODES_AT_MOST})"
        yield Problem("pools", nodes, reason, "lower `nodes` of the environment's accelerators")


def default_pools() -> tuple[NodePool, ...]:
    """Nodes without accelerators, for a sandbox that no environment describes."""
    resources = {"cpu": NODE_CPU, "memory": NODE_MEMORY, "pods": PODS_PER_NODE, "ephemeral-storage": EPHEMERAL_STORAGE}
    return (NodePool(CPU_POOL, CPU_NODES, resources),)


def from_environment(environment: Environment, folder: Path) -> SandboxSettings:
    """A cluster that offers what the environment says: its nodes, labels, taints, storage classes and context."""
    pools = [_accelerator_pool(environment, kind) for kind in environment.accelerators]
    labels = dict(environment.node_selector)
    taints = _taints(environment.tolerations)
    pools += [
        dataclasses.replace(pool, name=_free_name(pool.name, environment.accelerators), labels=labels, taints=taints)
        for pool in default_pools()
    ]
    context = environment.cluster.context
    return SandboxSettings(
        folder=folder,
        pools=tuple(pools),
        storage_classes=tuple(sorted(set(environment.storage_classes.values()))),
        contexts=() if context is None else (context,),
    )


def _accelerator_pool(environment: Environment, kind: str) -> NodePool:
    accelerator = environment.accelerators[kind]
    resources = {
        "cpu": accelerator.cpu,
        "memory": accelerator.memory,
        "pods": PODS_PER_NODE,
        "ephemeral-storage": EPHEMERAL_STORAGE,
        accelerator.resource: str(accelerator.per_node),
    }
    if environment.rdma is not None:
        resources[environment.rdma.resource] = str(environment.rdma.per_node)
    labels = {ACCELERATOR_LABEL: kind, **environment.node_selector, **accelerator.node_selector}
    taints = _taints([*environment.tolerations, *accelerator.tolerations])
    return NodePool(kind, accelerator.nodes, resources, labels, taints)


def _taints(tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """The taints that the tolerations are there for; one that tolerates everything names none."""
    return tuple(
        sorted(
            {
                Taint(
                    toleration.key,
                    "" if toleration.value is None else toleration.value,
                    "NoSchedule" if toleration.effect is None else toleration.effect,
                )
                for toleration in tolerations
                if toleration.key is not None
            }
        )
    )


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    return name if name not in taken else _free_name(f"{name}-only", taken)
