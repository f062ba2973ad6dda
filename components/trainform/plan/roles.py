"""One role group of the plan."""

from __future__ import annotations

from typing import Any

from trainform.catalog import defaults
from trainform.plan.env import role_env
from trainform.plan.gang import gang, role_policies
from trainform.plan.launch import container_args, container_command
from trainform.plan.model import Mount, Port, Rendezvous, RolePlan, World
from trainform.spec.environment import Accelerator, Environment
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Role


def plan_role(
    experiment: Experiment, environment: Environment, name: str, world: World, rendezvous: Rendezvous
) -> RolePlan:
    """What one role's pods get, with everything inherited from experiment and environment resolved."""
    role = experiment.roles[name]
    offset = _rank_offset(experiment, name)
    kind = _kind(role, environment)
    on_fabric = role.ranked and experiment.network.rdma and environment.rdma is not None
    return RolePlan(
        name=name,
        replicas=role.replicas,
        min_available=gang(experiment)[name],
        scales_in_place=not role.ranked or experiment.elastic,
        ranked=role.ranked,
        rank_offset=offset if role.ranked and not experiment.elastic else None,
        image=experiment.image if role.image is None else role.image,
        image_origin="image" if role.image is None else f"roles.{name}.image",
        command=container_command(role),
        args=container_args(experiment.launcher, role),
        env=role_env(experiment, name, offset, world, rendezvous),
        resources=_resources(experiment, environment, role),
        accelerators=next(((kind_name, count) for kind_name, count in role.accelerators.items() if count), None),
        capabilities=tuple(environment.rdma.capabilities) if on_fabric and environment.rdma is not None else (),
        shared_memory=_shared_memory(experiment, role),
        ports=_ports(experiment, name, rendezvous),
        mounts=_mounts(experiment, name),
        init=tuple(role.init),
        restart=_restart(experiment, role),
        max_retry=defaults.MAX_RETRY if role.max_retry is None else role.max_retry,
        policies=role_policies(experiment)[name],
        node_selector=environment.node_selector
        | (kind.node_selector if kind is not None else {})
        | experiment.node_selector
        | role.node_selector,
        tolerations=(
            *environment.tolerations,
            *(kind.tolerations if kind is not None else ()),
            *experiment.tolerations,
            *role.tolerations,
        ),
        labels=role.labels,
        annotations=role.annotations,
        overrides=role.pod_overrides,
    )


def _shared_memory(experiment: Experiment, role: Role) -> str | None:
    size = experiment.shared_memory if role.shared_memory is None else role.shared_memory
    return None if size == "0" else size  # to Kubernetes a limit of 0 means no limit


def claim_name(experiment: Experiment, key: str) -> str:
    """The claim behind a volume: the one that is named, or `<experiment>-<volume>` for one made here."""
    claim = experiment.storage[key].claim
    return f"{experiment.name}-{key}" if claim is None else claim


def _rank_offset(experiment: Experiment, name: str) -> int:
    """Rank of the role's first pod: ranked pods are numbered in the order of roles."""
    offset = 0
    for other, role in experiment.roles.items():
        if other == name:
            break
        offset += role.replicas if role.ranked else 0
    return offset


def _kind(role: Role, environment: Environment) -> Accelerator | None:
    return next((environment.accelerators.get(name) for name, count in role.accelerators.items() if count), None)


def _resources(experiment: Experiment, environment: Environment, role: Role) -> dict[str, str]:
    """Requests and limits, which are equal: a gang that shares what it has not asked for is slow on every node."""
    resources: dict[str, str | None] = {"cpu": role.cpu, "memory": role.memory, **role.resources}
    kind = _kind(role, environment)
    if kind is not None:
        resources[kind.resource] = str(sum(role.accelerators.values()))
    if role.ranked and experiment.network.rdma and environment.rdma is not None:
        resources[environment.rdma.resource] = str(environment.rdma.count)
    return {name: quantity for name, quantity in resources.items() if quantity is not None}


def _ports(experiment: Experiment, name: str, rendezvous: Rendezvous) -> tuple[Port, ...]:
    """The rendezvous port, declared by the role that holds rank 0, the only pod that listens on it."""
    first = next(other for other, role in experiment.roles.items() if role.ranked)
    return (Port("rendezvous", rendezvous.port, experiment.network.host),) if name == first else ()


def _mounts(experiment: Experiment, name: str) -> tuple[Mount, ...]:
    return tuple(
        Mount(key, claim_name(experiment, key), volume.mount, volume.sub_path, volume.read_only)
        for key, volume in experiment.storage.items()
        if volume.roles is None or name in volume.roles
    )


def _restart(experiment: Experiment, role: Role) -> Any:
    """The role's word, else the experiment's, else never; an elastic job's pods come back by themselves, as torchrun expects."""
    for said in (role.restart, experiment.restart):
        if said is not None:
            return said
    return "on-failure" if experiment.elastic and role.ranked else "never"
