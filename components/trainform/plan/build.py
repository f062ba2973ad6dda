"""Two files to one plan: the only place with the order of steps."""

from __future__ import annotations

from trainform.catalog import defaults
from trainform.plan.env import processes_per_node
from trainform.plan.launch import launch_scripts
from trainform.plan.model import ClaimPlan, Plan, QueuePlan, Rendezvous, RolePlan, World, job_name, pod_name
from trainform.plan.ports import rendezvous_port
from trainform.plan.roles import claim_name, plan_role
from trainform.plan.totals import total
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import amount, seconds
from trainform.spec.queues import OwnQueue, QueueRequest
from trainform.spec.storage import ClaimRequest

DRAFT_REVISION = "0" * defaults.REVISION_DIGITS


def build_plan(experiment: Experiment, environment: Environment, run: int = 1, revision: str = DRAFT_REVISION) -> Plan:
    """The plan under this revision. Total for every valid pair of models: a name that the environment does not know is left
    out here and told by `plan.problems`, so that all problems come at once."""
    world = _world(experiment)
    rendezvous = _rendezvous(experiment, environment, revision)
    roles = tuple(plan_role(experiment, environment, name, world, rendezvous) for name in experiment.roles)
    topology = experiment.network.topology
    return Plan(
        experiment=experiment.name,
        environment=environment.name,
        context=environment.cluster.context,
        backend=experiment.backend if experiment.backend is not None else environment.backend,
        run=run,
        revision=revision,
        namespace=environment.namespace.name,
        roles=roles,
        world=world,
        rendezvous=rendezvous,
        scripts=launch_scripts(experiment, world),
        queue=_queue(experiment, environment),
        claims=_claims(experiment, environment),
        host_network=experiment.network.host,
        topology=None if topology is None else topology.model_dump(exclude_none=True),
        priority_class=experiment.priority_class,
        service_account=experiment.service_account,
        image_pull_policy=experiment.image_pull_policy,
        image_pull_secrets=tuple(dict.fromkeys([*environment.image_pull_secrets, *experiment.image_pull_secrets])),
        max_retry=experiment.max_retry,
        policies=tuple(experiment.policies) if experiment.policies is not None else (),
        ttl_seconds=None if experiment.ttl is None else seconds(experiment.ttl),
        labels=experiment.labels,
        annotations=experiment.annotations,
        manifest_overrides=experiment.manifest_overrides,
        totals=total(roles, environment),
        notes=_notes(experiment, roles),
    )


def queue_amounts(request: QueueRequest, environment: Environment) -> dict[str, dict[str, str]]:
    """capability, deserved and guarantee with accelerator kinds turned into resource names; what is empty is left out."""
    amounts = {name: getattr(request, name) for name in ("capability", "deserved", "guarantee")}
    return {
        name: {resource_name(key, environment): quantity for key, quantity in given.items()}
        for name, given in amounts.items()
        if given
    }


def resource_name(kind_or_resource: str, environment: Environment) -> str:
    """`a800` as the cluster knows it; any other resource unchanged."""
    kind = environment.accelerators.get(kind_or_resource)
    return kind_or_resource if kind is None else kind.resource


def _world(experiment: Experiment) -> World:
    ranked = [role for role in experiment.roles.values() if role.ranked]
    elastic = experiment.launcher.elastic
    return World(
        nodes=sum(role.replicas for role in ranked),
        processes=sum(role.replicas * processes_per_node(experiment.launcher, role) for role in ranked),
        bounds=None if elastic is None else (elastic.min_nodes, elastic.max_nodes),
    )


def _rendezvous(experiment: Experiment, environment: Environment, revision: str) -> Rendezvous:
    first = next(name for name, role in experiment.roles.items() if role.ranked)
    pod = pod_name(job_name(experiment.name, revision), first, 0)
    return Rendezvous(experiment.name, f"{pod}.{experiment.name}", rendezvous_port(experiment, environment))


def _queue(experiment: Experiment, environment: Environment) -> QueuePlan:
    if not isinstance(experiment.queue, OwnQueue):
        return QueuePlan(experiment.queue, None)
    name = experiment.name if experiment.queue.name is None else experiment.queue.name
    return QueuePlan(name, experiment.queue, queue_amounts(experiment.queue, environment))


def _claims(experiment: Experiment, environment: Environment) -> tuple[ClaimPlan, ...]:
    return tuple(
        plan_claim(key, claim_name(experiment, key), request, environment)
        for key, volume in experiment.storage.items()
        if (request := volume.request) is not None
    )


def plan_claim(key: str, name: str, request: ClaimRequest, environment: Environment) -> ClaimPlan:
    """A claim with its storage class as the cluster knows it."""
    short = request.storage_class
    return ClaimPlan(key, name, request, None if short is None else environment.storage_classes.get(short, short))


def _notes(experiment: Experiment, roles: tuple[RolePlan, ...]) -> tuple[str, ...]:
    """What is allowed, but may surprise."""
    notes = []
    if experiment.shared_memory is None and not all(role.shared_memory for role in experiment.roles.values()):
        notes.append(
            "no shared_memory: /dev/shm has the runtime's 64 MB, too small for PyTorch data loaders with workers"
        )
    for role in roles:
        memory = role.resources.get("memory", "0")  # to Kubernetes a limit of 0 means no limit
        if role.shared_memory is not None and 0 < amount(memory) < amount(role.shared_memory):
            notes.append(
                f"role {role.name}: shared_memory {role.shared_memory} is above memory {memory}, so a pod that fills it is killed"
            )
    if experiment.ttl is not None:
        notes.append(
            f"ttl {experiment.ttl}: a job deleted by it looks like drift, and the next `pulumi up` trains again"
        )
    if experiment.elastic:
        notes.append("elastic: ranks and world size are given by torchrun at run time, not by the plan")
    first = next(role for role in experiment.roles.values() if role.ranked)
    if experiment.network.host and first.replicas > 1:
        notes.append(
            "host network: every pod of the role of rank 0 declares the rendezvous port, so each needs its own node"
        )
    return tuple(notes)
