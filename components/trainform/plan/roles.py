"""One role group of the plan."""

from __future__ import annotations

from trainform.catalog import defaults
from trainform.plan.checkout import checkouts, containers, steps
from trainform.plan.env import role_env
from trainform.plan.gang import gang
from trainform.plan.launch import container_args, container_command
from trainform.plan.layout import Layout
from trainform.plan.model import Mount, RolePlan
from trainform.plan.restart import max_retry, pod_restart, restarts_job, role_policies
from trainform.plan.world import in_world, is_launched, rank_offset
from trainform.spec.environment import Accelerator, Environment
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Role


def plan_role(layout: Layout, name: str) -> RolePlan:
    """What one role's pods get, with everything inherited from experiment and environment resolved."""
    experiment, environment = layout.experiment, layout.environment
    role = experiment.roles[name]
    kind = _kind(role, environment)
    on_fabric = role.ranked and experiment.network.rdma and environment.rdma is not None
    numbered = in_world(experiment, name) and not experiment.elastic
    return RolePlan(
        name=name,
        group=layout.group(name),
        replicas=role.replicas,
        min_available=gang(experiment)[name],
        scales_in_place=not role.ranked or experiment.elastic,
        ranked=role.ranked,
        rank_offset=rank_offset(experiment, name) if numbered else None,
        image=experiment.image if role.image is None else role.image,
        image_origin="image" if role.image is None else f"roles.{name}.image",
        command=container_command(layout, name),
        args=container_args(experiment, name),
        env=role_env(layout, name),
        resources=_resources(experiment, environment, role),
        accelerators=next(((kind_name, count) for kind_name, count in role.accelerators.items() if count), None),
        capabilities=tuple(environment.rdma.capabilities) if on_fabric and environment.rdma is not None else (),
        shared_memory=_shared_memory(experiment, role),
        ports=layout.ports[name],
        per_replica=layout.per_replica(name),
        mounts=_mounts(experiment, name),
        prepared=tuple(experiment.prepare.index(step) for step in steps(experiment, name)),
        checkouts=checkouts(experiment, name),
        init=(*containers(experiment, name, defaults.LAUNCH_MOUNT), *role.init),
        ssh=name in layout.ssh_roles,
        launched=is_launched(experiment, name),
        stays=layout.stays(name),
        restart=pod_restart(experiment, name),
        restarts_job=restarts_job(experiment, name),
        max_retry=max_retry(experiment, name),
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


def _mounts(experiment: Experiment, name: str) -> tuple[Mount, ...]:
    return tuple(
        Mount(key, claim_name(experiment, key), volume.mount, volume.sub_path, volume.read_only)
        for key, volume in experiment.storage.items()
        if volume.roles is None or name in volume.roles
    )
