"""Kubeflow's training-operator v1: `kubeflow.org/v1` PyTorchJob, TFJob and MPIJob.

The operator computes the world anew and appends it to the containers, after what stands there. It counts processes in WORLD_SIZE where
`nprocPerNode` is a number; the plan's values win (`manifests.env`). It makes the PodGroup and a Service for each pod, and never rolls a pod: a
template that changes is a new revision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trainform.backends.decided import changes, follows
from trainform.backends.endings import first_pod
from trainform.backends.gangs import GROUP_ANNOTATION, PODGROUP_CRDS, QUEUE_ANNOTATION
from trainform.backends.job_kinds import JobKind, kind_of, rendered_specs
from trainform.backends.kubeflow_pods import GPU, INIT_CONTAINERS, OWN_LABELS, VOLUMES, appended, controller_objects
from trainform.backends.kubeflow_pods import INDEX_LABEL as INDEX
from trainform.backends.kubeflow_replicas import (
    ALL_WORKERS,
    Maker,
    backoff_limit,
    processes_per_node,
    replica_changes,
    replica_problems,
    replica_specs,
    replica_types,
    said_number,
    shape,
    type_endings,
    worker_endings,
)
from trainform.backends.kubeflow_replicas import templates as replica_templates
from trainform.backends.runtimes import OF_TRAINER
from trainform.backends.support import Fields, done_by, noted, refused
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import job_metadata
from trainform.manifests.shape import intact
from trainform.plan.model import Ending, Plan, RolePlan
from trainform.policy.templates import Template

API_VERSION = "kubeflow.org/v1"
INDEX_LABEL = INDEX
MAKES = f"PyTorchJob, TFJob or MPIJob (`{API_VERSION}`)"
ENDS = (
    "PyTorchJob: the Master; without one all workers, or any of an elastic job. TFJob: the Chief; without one all workers (`successPolicy: AllWorkers`). "
    "MPIJob: the Launcher"
)
ADMISSIONS = (defaults.VOLCANO,)
# The CRD refuses another queue; templates would change for no pod that runs.
IN_PLACE = (
    "spec.runPolicy.suspend",
    "spec.runPolicy.ttlSecondsAfterFinished",
    "spec.runPolicy.schedulingPolicy.minAvailable",
    "spec.pytorchReplicaSpecs.*.replicas",
)
_DECIDED = (
    f"metadata.annotations.{QUEUE_ANNOTATION}",
    "spec.runPolicy.schedulingPolicy.queue",
    "spec.runPolicy.schedulingPolicy.minAvailable",
)
ADDS = (
    "PyTorchJob: `PYTHONUNBUFFERED`, `PET_NNODES`, `PET_NPROC_PER_NODE`; with a Master `MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE` and `RANK`, in which "
    "a process sees the plan's values, and `PET_MASTER_ADDR`, `PET_MASTER_PORT`, `PET_NODE_RANK`; an elastic one `PET_RDZV_ENDPOINT`, "
    "`PET_RDZV_BACKEND`, `PET_MAX_RESTARTS`. Its workers get the init container `init-pytorch` (`alpine:3.10`), which gives the Master's name 100 tries "
    "of 2 s. TFJob: `TF_CONFIG`, which the plan's own replaces. MPIJob, in the launcher: `OMPI_MCA_plm_rsh_agent`, `OMPI_MCA_orte_default_hostfile`, "
    "`I_MPI_HYDRA_BOOTSTRAP`, `I_MPI_HYDRA_BOOTSTRAP_EXEC`, without accelerators empty `NVIDIA_VISIBLE_DEVICES` and `NVIDIA_DRIVER_CAPABILITIES`, "
    "and the init container `kubectl-delivery`; `/etc/mpi` with hostfile and agent"
)

MAKER = Maker(
    "training-operator",
    frozenset([*OWN_LABELS, GROUP_ANNOTATION, "volcano.sh/task-spec"]),
    frozenset([*INIT_CONTAINERS, *VOLUMES]),
)
_POLICIES = refused(
    "are lifecycle policies of Volcano, and training-operator has none", "remove them, and say it in `restart`"
)
FIELDS: Fields = {
    "runtime": OF_TRAINER,
    "roles": done_by(
        "replica types. PyTorchJob: the pod that launches, else a first ranked role of one replica, is Master, whose end ends the job, and another "
        "ranked role is Worker; one role of several replicas is Worker alone. TFJob: by task type. MPIJob: Launcher and Worker. Extras are refused"
    ),
    "launcher.mpi": noted(
        "training-operator starts the processes by `kubectl exec` and with a hostfile of its own: there is no SSH and nothing waits for it; pods "
        "have no names in DNS, so MASTER_ADDR and MASTER_PORT are not set"
    ),
    "launcher.torchrun.elastic": noted("the job is complete when one of its pods is: training-operator then removes the others"),
    "queue": done_by(f"`runPolicy.schedulingPolicy.queue`, and the annotation `{QUEUE_ANNOTATION}`"),
    "priority_class": done_by("of the pods, and `runPolicy.schedulingPolicy.priorityClass`"),
    "restart": done_by(
        "never: `restartPolicy: Never`; on-failure, N times: `OnFailure` with `runPolicy.backoffLimit`; all-when-evicted is refused"
    ),
    "max_retry": noted("has no effect: training-operator never starts a whole job anew"),
    "roles.*.max_retry": done_by("`runPolicy.backoffLimit`: one number for the job, counted over all pods that start their containers again"),
    "ttl": done_by("`runPolicy.ttlSecondsAfterFinished`; updates in place"),
    "policies": _POLICIES,
    "roles.*.policies": _POLICIES,
    "roles.*.min_available": done_by("counts for `runPolicy.schedulingPolicy.minAvailable`, over all roles"),
    "network.host": noted(
        "every pod of a PyTorchJob or TFJob declares the main port, so each needs its own node: training-operator would else declare 23456 or 2222, "
        "the same in every job"
    ),
    "network.ports": refused(
        "give each replica a template of its own, and a job of training-operator has one for all replicas of a type",
        "remove it; pods with the same host port then need nodes of their own",
    ),
    "network.wait": done_by("as described; workers beside a Master wait first, 200 s, in an init container of training-operator's"),
    "prepare.*.roles": noted(
        "workers of a PyTorchJob wait 200 s at most for the name of the Master, which is in DNS when its steps are done (the Service of "
        "training-operator publishes ready pods alone): where a step of the Master alone takes longer, they fail"
    ),
    "network.topology": refused(
        "is the PodGroup's, which training-operator makes without it", "remove it, or use the backend volcano or jobset"
    ),
}  # fmt: skip


def crds(plan: Plan) -> tuple[str, ...]:
    """The job's kind, and the PodGroup that the operator makes."""
    return (f"{kind_of(plan).plural}.kubeflow.org", *PODGROUP_CRDS)


def shapes(plan: Plan) -> dict[str, Any]:
    """The job's."""
    policy = {"runPolicy!": {"schedulingPolicy!": {"minAvailable!": int, "queue!": str}}}
    return {"job": shape(plan, policy)}


def problems(plan: Plan) -> Iterator[Problem]:
    """Roles without a replica type, restarts that there is no word for, what an MPIJob cannot do."""
    yield from replica_problems(plan, MAKER)
    yield from follows(plan, "annotations", QUEUE_ANNOTATION, "`queue`")
    if plan.naming.agent is not None:
        yield from _mpi_problems(plan)


def operator(plan: Plan) -> Operator:
    """The index by the operator's label; what it appends to this kind of job, with or without a Master."""
    kind = kind_of(plan)
    types = [kind.types.get(role.group, role.name) for role in plan.roles]
    names = appended(kind.kind, plan.totals.pods, types, plan.world.bounds is not None)
    return Operator(
        INDEX_LABEL,
        appended=names,
        computed=names & {"TF_CONFIG"},
        container=kind.container,
        ports=kind.ports,
    )


def files(plan: Plan) -> dict[str, str]:
    """None."""
    return {}


def further(plan: Plan) -> list[Manifest]:
    """Nothing: the operator makes the PodGroup."""
    return []


def job(plan: Plan) -> Manifest:
    """The job of the launcher's kind."""
    kind = kind_of(plan)
    specs = replica_specs(plan, operator(plan))
    if plan.host_network:
        specs = {name: {**spec, "template": _listening(plan, spec["template"])} for name, spec in specs.items()}
    spec = {**_OWN_FIELDS[kind.kind](plan), "runPolicy": _run_policy(plan), kind.field: specs}
    body = {
        "apiVersion": API_VERSION,
        "kind": kind.kind,
        "metadata": job_metadata(plan, annotations={QUEUE_ANNOTATION: plan.queue.name}),
        "spec": without_empty(spec),
    }
    return Manifest("job", body, revision=plan.revision)


def templates(plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
    """Of each replica type."""
    return replica_templates(plan, job_body(manifests))


def pods(plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """What the operator would make of the rendered job."""
    return controller_objects(job_body(manifests))


def endings(plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
    """By the kind of the rendered job."""
    body = job_body(manifests)
    return _ENDINGS[body["kind"]](body)


def replanned(key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Queue and numbers of pods."""
    yield from changes(_DECIDED, rendered, patched)
    yield from replica_changes(rendered, patched)


def _run_policy(plan: Plan) -> dict[str, Any]:
    """Pods that still run when the job ends are removed; those that have ended stay, with their logs."""
    scheduling = {
        "minAvailable": plan.min_available,
        "queue": plan.queue.name,
        "priorityClass": plan.priority_class,
    }
    return without_empty(
        {
            "cleanPodPolicy": "Running",
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            "backoffLimit": backoff_limit(plan),
            "schedulingPolicy": without_empty(scheduling),
        }
    )


def _pytorch(plan: Plan) -> dict[str, Any]:
    """Processes per node where all agree (a number turns the operator's WORLD_SIZE into processes), and the bounds of an elastic job."""
    number = processes_per_node(plan)
    fields: dict[str, Any] = {"nprocPerNode": None if number is None else str(number)}
    if plan.world.bounds is not None:
        least, most = plan.world.bounds
        restarts = said_number(plan, "MAX_RESTARTS")
        policy = {"minReplicas": least, "maxReplicas": most, "rdzvBackend": "c10d", "maxRestarts": restarts}
        fields["elasticPolicy"] = without_empty(policy)
    return fields


def _mpi(plan: Plan) -> dict[str, Any]:
    return {"slotsPerWorker": processes_per_node(plan), "mainContainer": kind_of(plan).container}


_OWN_FIELDS = {"PyTorchJob": _pytorch, "TFJob": lambda plan: {"successPolicy": ALL_WORKERS}, "MPIJob": _mpi}


def _pytorch_endings(job: dict[str, Any]) -> tuple[Ending, ...]:
    """Source: training-operator 1.9.3, pkg/controller.v1 (`UpdateJobStatus`), as for the other kinds."""
    types = replica_types(job)
    if "Master" in types:
        return type_endings(job, "Master")
    elastic = "elasticPolicy" in job["spec"] and rendered_specs(job)["Worker"]["replicas"] > 1
    return first_pod(types["Worker"]) if elastic else type_endings(job, "Worker")


def _tensorflow_endings(job: dict[str, Any]) -> tuple[Ending, ...]:
    return type_endings(job, "Chief") if "Chief" in replica_types(job) else worker_endings(job)


_ENDINGS: dict[str, Callable[[dict[str, Any]], tuple[Ending, ...]]] = {
    "PyTorchJob": _pytorch_endings,
    "TFJob": _tensorflow_endings,
    "MPIJob": lambda job: type_endings(job, "Launcher"),
}


def _listening(plan: Plan, template: dict[str, Any]) -> dict[str, Any]:
    """The template with the operator's port, which it would otherwise declare by a number of its own; on the host network that is a host
    port, and the same one in every such job."""
    kind = kind_of(plan)
    if plan.overrides and not intact(template):
        return template
    spec = template["spec"]
    made = [_with_ports(each, kind, plan.rendezvous.own_port) for each in spec["containers"]]
    return {**template, "spec": {**spec, "containers": made}}


def _with_ports(container: dict[str, Any], kind: JobKind, number: int) -> dict[str, Any]:
    if container["name"] != kind.container:
        return container
    ports = container.get("ports", [])
    missing = [name for name in kind.ports.values() if name not in [port.get("name") for port in ports]]
    added = [{"name": name, "containerPort": number, "hostPort": number, "protocol": "TCP"} for name in missing]
    return {**container, "ports": [*ports, *added]} if added else container


def _mpi_problems(plan: Plan) -> Iterator[Problem]:
    """The hostfile is training-operator's: workers, and the launcher where it asks for a GPU, each with the same number of slots."""
    if plan.ssh is not None:
        reason = "has no use: pods of an MPIJob have no names, and processes are started by `kubectl exec`"
        yield Problem("ssh", None, reason, "remove it")
    if plan.services:
        reason = "has no use: processes of an MPIJob find each other by MPI"
        yield Problem("network.addresses", "service", reason, "remove it")
    if processes_per_node(plan) is None:
        reason = "have different numbers of processes, and an MPIJob has one `slotsPerWorker`"
        yield Problem("roles", None, reason, "give them the same accelerators, or write `processes_per_node`")
    for role in plan.roles:
        counted = any(GPU in resource for resource in role.resources)
        if role.name == plan.launches and counted != role.ranked:
            yield _not_a_node(role) if role.ranked else _a_node(role)


def _not_a_node(role: RolePlan) -> Problem:
    reason = f"is a node of the world, and training-operator counts a launcher as one only where a resource of it has `{GPU}` in its name"
    fix = "launch from a role of its own: `launcher: {ranked: false}`, and `role: launcher` in `launcher.mpi`"
    return Problem(f"roles.{role.name}", None, reason, fix)


def _a_node(role: RolePlan) -> Problem:
    reason = f"asks for a resource with `{GPU}` in its name, by which training-operator counts the launcher as a node"
    return Problem(f"roles.{role.name}", None, reason, "remove it, or leave `ranked` out and put the role first")
