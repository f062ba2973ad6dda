"""Two files to one plan: the only place with the order of steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trainform import defaults
from trainform.plan.launch.launch import launch_files, needs_hosts, ssh_folder
from trainform.plan.layout import Layout, lay_out, main_port, service_name
from trainform.plan.model import Plan, QueuePlan, Rendezvous, ReplicaService, RuntimePlan, SshPlan
from trainform.plan.operator import Naming, Operator
from trainform.plan.roles import claim_name, plan_roles, total
from trainform.plan.volumes import ClaimPlan, MountedFile
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.network import Ssh
from trainform.spec.quantities import seconds
from trainform.spec.queue_fields import OwnQueue, QueueRequest
from trainform.spec.storage import ClaimRequest

_NOT_IN_KEYS, LONGEST_KEY = re.compile("[^-._a-zA-Z0-9]"), 200
DRAFT_REVISION = "0" * defaults.REVISION_DIGITS


def chosen_backend(experiment: Experiment, environment: Environment) -> str:
    """Return the name of the experiment's backend, or of the environment's if the experiment names none."""
    return environment.backend if experiment.backend is None else experiment.backend


def build_plan(
    experiment: Experiment,
    environment: Environment,
    run: int = 1,
    revision: str = DRAFT_REVISION,
    *,
    operator: Operator,
    naming: Naming,
    groups: Mapping[str, str],
) -> Plan:
    """Return the plan under this revision.

    operator: the backend's one that runs the job. naming: its names of pods and addresses. groups: the backend's word
    for each role. Every valid pair of models has a plan: a name that the environment does not know is left out here and
    reported by `rules`, so that all problems come at once.
    """
    layout = lay_out(experiment, environment, revision, naming, groups)
    roles = plan_roles(layout)
    topology, runtime = experiment.network.topology, experiment.runtime
    return Plan(
        experiment=experiment.name,
        environment=environment.name,
        context=environment.cluster.context,
        backend=chosen_backend(experiment, environment),
        operator=operator,
        naming=layout.naming,
        runtime=None if runtime is None else RuntimePlan(runtime.kind, runtime.name, runtime.content),
        admission=environment.admission,
        run=run,
        revision=revision,
        namespace=environment.namespace.name,
        launcher=experiment.launcher.kind,
        roles=roles,
        world=layout.world,
        rendezvous=_rendezvous(layout),
        ssh=plan_ssh(layout),
        hosts=tuple(layout.hosts()) if needs_hosts(layout) else (),
        services=plan_services(layout),
        files=launch_files(layout),
        launches=layout.launching,
        ending_role=layout.ending,
        ends_with=(),  # follows from the rendered objects (`render`)
        queue=_queue(experiment, environment),
        claims=_claims(experiment, environment),
        mounted_files=tuple(_files(experiment)),
        run_as=experiment.run_as,
        restricted=environment.limits.pod_security == "restricted",
        host_network=experiment.network.host,
        topology=None if topology is None else topology.model_dump(exclude_none=True),
        priority_class=None if environment.workload_priorities else experiment.priority_class,
        workload_priority=experiment.priority_class if environment.workload_priorities else None,
        service_account=experiment.service_account,
        image_pull_policy=experiment.image_pull_policy,
        image_pull_secrets=tuple(dict.fromkeys([*environment.image_pull_secrets, *experiment.image_pull_secrets])),
        max_retry=experiment.max_retry,
        policies=tuple(experiment.policies) if experiment.policies is not None else (),
        max_run_seconds=None if experiment.max_run_time is None else seconds(experiment.max_run_time),
        clean_pods=experiment.clean_pods,
        ttl_seconds=None if experiment.ttl is None else seconds(experiment.ttl),
        labels=experiment.labels,
        annotations=experiment.annotations,
        manifest_overrides=experiment.manifest_overrides,
        totals=total(roles, environment),
        notes=(),  # follow from the rendered objects (`render`)
        changes={},  # follows from the rendered objects (`job.render`)
    )


def queue_amounts(request: QueueRequest, environment: Environment) -> dict[str, dict[str, str]]:
    """Return capability, deserved and guarantee by resource names instead of accelerator kinds, without empty ones."""
    amounts = {name: getattr(request, name) for name in ("capability", "deserved", "guarantee")}
    return {
        name: {resource_name(key, environment): quantity for key, quantity in quantities.items()}
        for name, quantities in amounts.items()
        if quantities
    }


def resource_name(kind_or_resource: str, environment: Environment) -> str:
    """Return the name of the resource for a kind such as `a800`; any other resource unchanged."""
    kind = environment.accelerators.get(kind_or_resource)
    return kind_or_resource if kind is None else kind.resource


def _rendezvous(layout: Layout) -> Rendezvous:
    first = layout.first_ranked
    own = layout.listens_on(first, 0, main_port(layout.experiment))
    called = layout.rendezvous_port
    return Rendezvous(
        service=layout.experiment.name,
        address=layout.address(first, 0),
        port=called,
        own_address=layout.pod_address(first, 0),
        own_port=called if own is None else own,
    )


def _queue(experiment: Experiment, environment: Environment) -> QueuePlan:
    if environment.admission == defaults.NONE:
        return QueuePlan("", None)
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


def _files(experiment: Experiment) -> Iterator[MountedFile]:
    """Yield the files. A key cannot have a slash, so it is the file's number and name."""
    for number, (path, file) in enumerate(experiment.files.items()):
        name = _NOT_IN_KEYS.sub("_", path.rpartition("/")[2])[-LONGEST_KEY:]
        yield MountedFile(path, f"{number}-{name}", "" if file.text is None else file.text)


def plan_claim(key: str, name: str, request: ClaimRequest, environment: Environment) -> ClaimPlan:
    """Return a claim with its storage class as the cluster knows it."""
    short = request.storage_class
    return ClaimPlan(key, name, request, None if short is None else environment.storage_classes.get(short))


def plan_ssh(layout: Layout) -> SshPlan | None:
    """Return the identity that the job's pods share, None where no role has one."""
    experiment = layout.experiment
    roles = layout.ssh_roles
    if not roles:
        return None
    settings = Ssh() if experiment.ssh is None else experiment.ssh
    return SshPlan(
        secret=f"{experiment.name}-ssh" if settings.secret is None else settings.secret,
        made=settings.secret is None,
        rotation=settings.rotation,
        folder=ssh_folder(experiment),
        port=layout.ssh_port,
        ports=layout.ssh_ports(),
        roles=roles,
    )


def plan_services(layout: Layout) -> tuple[ReplicaService, ...]:
    """Return a Service for each ranked replica that listens on any port; none without `network.addresses: service`."""
    experiment = layout.experiment
    if experiment.network.addresses != "service":
        return ()
    return tuple(
        ReplicaService(f"{service_name(experiment.name, name)}-{index}", name, index, ports)
        for name, role in experiment.roles.items()
        if role.ranked
        for index in range(role.replicas)
        if (
            ports := tuple(
                (port.name, layout.peer_port(name, index, port.name), port.number)
                for port in layout.own_ports(name, index)
            )
        )
    )
