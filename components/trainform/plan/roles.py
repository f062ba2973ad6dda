"""The role groups of the plan, and sums over all pods."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from trainform import defaults
from trainform.plan.launch.launch import container_args, container_command
from trainform.plan.launch.prepare import checkouts, containers, in_first_pod, step_roles
from trainform.plan.layout import Layout
from trainform.plan.model import RolePlan, Totals
from trainform.plan.variables import role_env
from trainform.plan.volumes import Mount
from trainform.plan.world import in_world, is_limited, max_retry, pod_restart, restart_rule, restarts_job
from trainform.spec.environment import Accelerator, Environment, Rdma, hourly_cost
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import Step
from trainform.spec.quantities import amount, seconds, spell
from trainform.spec.roles import Amounts, Role, request_and_limit
from trainform.spec.storage import CLAIM


def plan_roles(layout: Layout) -> tuple[RolePlan, ...]:
    """Return the plan of each role, with everything inherited from experiment and environment resolved."""
    experiment = layout.experiment
    steps = [(index, step, {*step_roles(experiment, step)}) for index, step in enumerate(experiment.prepare)]
    gangs = gang(experiment)
    return tuple(
        _plan_role(layout, name, gangs[name], {index: step for index, step, roles in steps if name in roles})
        for name in experiment.roles
    )


def _plan_role(layout: Layout, name: str, min_available: int, steps: dict[int, Step]) -> RolePlan:
    """Return the plan of the role. steps: those of `prepare` that the pods run, by their index."""
    experiment, environment = layout.experiment, layout.environment
    role = experiment.roles[name]
    first = in_first_pod(experiment, name)
    accelerators = next(((kind_name, count) for kind_name, count in role.accelerators.items() if count), None)
    kind = None if accelerators is None else environment.accelerators.get(accelerators[0])
    rdma = environment.rdma if role.ranked and experiment.network.rdma else None
    numbered = in_world(experiment, name) and not experiment.elastic
    resources = _resources(role, kind, rdma)
    return RolePlan(
        name=name,
        group=layout.groups[name],
        replicas=role.replicas,
        min_available=min_available,
        scales_in_place=not role.ranked or experiment.elastic,
        ranked=role.ranked,
        rank_offset=layout.rank_offsets[name] if numbered else None,
        image=experiment.image if role.image is None else role.image,
        image_origin="image" if role.image is None else f"roles.{name}.image",
        command=container_command(layout, name),
        args=container_args(layout, name),
        working_dir=role.working_dir,
        grace_seconds=None if role.grace_period is None else seconds(role.grace_period),
        env=role_env(layout, name),
        resources={resource: request for resource, (request, _) in resources.items() if request is not None},
        limits={resource: limit for resource, (_, limit) in resources.items() if limit is not None},
        accelerators=accelerators,
        capabilities=() if rdma is None else tuple(rdma.capabilities),
        shared_memory=_shared_memory(experiment, role),
        ports=layout.ports[name],
        per_replica=layout.per_replica(name),
        mounts=tuple(_mounts(experiment, name)),
        prepared=tuple(steps),
        checkouts=checkouts(steps.values()),
        in_first_pod=first,
        init=(*containers(steps.values(), first, defaults.LAUNCH_MOUNT), *role.init),
        ssh=name in layout.ssh_roles,
        launched=name in layout.launched,
        stays=layout.stays(name),
        counted=layout.ends_by_number and name == layout.ending,
        restart=pod_restart(experiment, name),
        restarts_job=restarts_job(experiment, name) and name in layout.launched,
        limited=is_limited(role.restart),
        restart_rule=restart_rule(experiment, name),
        restart_path="restart" if role.restart is None else f"roles.{name}.restart",
        max_retry=max_retry(experiment, name),
        policies=layout.policies[name],
        node_selector=environment.node_selector
        | (kind.node_selector if kind is not None else {})
        | experiment.node_selector
        | role.node_selector,
        node_affinity=role.node_affinity,
        tolerations=(
            *environment.tolerations,
            *(kind.tolerations if kind is not None else ()),
            *experiment.tolerations,
            *role.tolerations,
        ),
        labels=role.labels,
        annotations=role.annotations,
        overrides=role.pod_overrides,
        written=name,
    )


def _shared_memory(experiment: Experiment, role: Role) -> str | None:
    size = experiment.shared_memory if role.shared_memory is None else role.shared_memory
    return None if size == "0" else size  # to Kubernetes a limit of 0 means no limit


def claim_name(experiment: Experiment, key: str) -> str:
    """Return the claim behind a volume: the one that is named, or `<experiment>-<volume>` for one made here."""
    claim = experiment.storage[key].claim
    return f"{experiment.name}-{key}" if claim is None else claim


def _resources(role: Role, kind: Accelerator | None, rdma: Rdma | None) -> dict[str, tuple[str | None, str | None]]:
    """Return request and limit of each resource. One amount is both: a gang that shares resources beyond its requests
    is slow on every node."""
    resources: dict[str, str | Amounts | None] = {"cpu": role.cpu, "memory": role.memory, **role.resources}
    if kind is not None:
        resources[kind.resource] = str(sum(role.accelerators.values()))
    if rdma is not None:
        resources.setdefault(rdma.resource, str(rdma.count))
    return {name: request_and_limit(amount) for name, amount in resources.items() if amount is not None}


def _mounts(experiment: Experiment, name: str) -> Iterator[Mount]:
    for key, volume in experiment.storage.items():
        if volume.roles is None or name in volume.roles:
            kind, source = volume.source
            source = claim_name(experiment, key) if kind == CLAIM else source
            yield Mount(key, kind, source, volume.mount, volume.sub_path, volume.read_only)


def gang(experiment: Experiment) -> dict[str, int]:
    """Return the pods per role that must be placed together. In an elastic job the ranked roles share `min_nodes`,
    first role first."""
    elastic = experiment.launcher.elastic
    left = None if elastic is None else elastic.min_nodes
    needed = {}
    for name, role in experiment.roles.items():
        if role.min_available is not None:
            needed[name] = role.min_available
        elif role.ranked and left is not None:
            needed[name] = min(role.replicas, left)
            left -= needed[name]
        else:
            needed[name] = role.replicas
    return needed


def total(roles: tuple[RolePlan, ...], environment: Environment) -> Totals:
    """Return the pods, accelerators, CPU, memory and cost of the whole job."""
    accelerators: dict[str, int] = {}
    for role in roles:
        if role.accelerators is not None:
            kind, count = role.accelerators
            accelerators[kind] = accelerators.get(kind, 0) + count * role.replicas
    return Totals(
        pods=sum(role.replicas for role in roles),
        accelerators=accelerators,
        cpu=_sum(roles, "cpu"),
        memory=_sum(roles, "memory"),
        cost_per_hour=hourly_cost(accelerators, environment),
    )


def _sum(roles: tuple[RolePlan, ...], resource: str) -> str:
    requests = [(role.resources.get(resource), role.replicas) for role in roles if role.replicas]
    known = [(quantity, replicas) for quantity, replicas in requests if quantity is not None]
    if len(known) < len(requests):
        return ""
    value = sum((amount(quantity) * replicas for quantity, replicas in known), Decimal(0))
    return spell(value, binary=any(quantity.endswith("i") for quantity, _ in known))
