"""Kubeflow's training-operator v1: `kubeflow.org/v1` PyTorchJob and TFJob; MPIJob of it or of mpi-operator.

The operator computes ranks and addresses itself and appends them to the `env` of containers. Its WORLD_SIZE counts
processes if `nprocPerNode` is a number; the plan's values win (`manifests.env`). It makes the PodGroup and a Service
for each pod. It never replaces a pod whose template has changed, so a changed template is a new revision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION, LOCAL_QUEUE, QUEUE_ANNOTATION, QUEUE_LABEL, queue_labels
from trainform.backends.backend import PodRestarts
from trainform.backends.kubeflow import mpi_operator
from trainform.backends.kubeflow.controller import (
    GPU,
    KUBEXEC,
    OWN_LABELS,
    WAITING,
    appended,
    controller_objects,
    spared,
)
from trainform.backends.kubeflow.controller import INDEX_LABEL as INDEX
from trainform.backends.outcome import by_condition, ends_with_role, failed_of_types
from trainform.backends.refusals import EXTRA_ROLES, JOB_RESTARTS, RESTART_RULES, STEPS_OF_ONE_POD, another_backend
from trainform.backends.replica_specs.kinds import MPI_V2, NAMING, is_v2, kind_of, main_port, replica_spec_pods
from trainform.backends.replica_specs.specs import (
    ALL_WORKERS,
    GANG,
    OfReplicaSpecs,
    common_fields,
    common_number,
    left_running,
    replica_specs,
    run_policy,
)
from trainform.backends.support import Fields, done_by, follows, noted, refused
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import job_manifest
from trainform.plan.model import Ending, Plan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

_OF_THE_MASTER = (
    "workers of a PyTorchJob wait 200 s at most for the name of the Master, which is in DNS when its steps are done "
    "(the Service of training-operator publishes ready pods alone): where a step of the Master alone takes longer, "
    "they fail"
)
_BY_EXEC = (
    "training-operator starts the processes by `kubectl exec` and with its own hostfile: there is no SSH and nothing "
    "waits for it; pods have no names in DNS, so MASTER_ADDR and MASTER_PORT are not set"
)
_STEPS = "workers of a PyTorchJob wait 200 s at most for steps of the Master alone"


_TRAINING = Operator(
    "Kubeflow's training-operator",
    "kubeflow.org",
    "kubeflow.org/v1",
    "kubeflow/training-operator",
    ("pytorchjobs", "tfjobs"),
)
# The pods of an MPIJob v1 have no addresses: its launcher starts processes by `kubectl exec`.
_NAMINGS = {
    "": NAMING,
    "v1": structs.replace(NAMING, single=("launcher",), agent=KUBEXEC, named=False),
    MPI_V2.version: mpi_operator.NAMING,
}


class Kubeflow(OfReplicaSpecs):
    """Kubeflow's training-operator: a job of replica specs, by the launcher's kind."""

    OPERATORS = (_TRAINING, mpi_operator.OPERATOR, structs.replace(_TRAINING, plurals=("mpijobs",), mpi_job="v1"))
    OUTCOME = by_condition("Succeeded", failed_pods=failed_of_types)
    PODS = replica_spec_pods("kubeflow.org")
    RESTARTS = PodRestarts(
        "training-operator restarts pods by exit code (`ExitCode`) from 128 to 255", tuple(range(128, 256)), "128-255"
    )

    MAKES = "PyTorchJob, TFJob (`kubeflow.org/v1`), MPIJob (`kubeflow.org/v2beta1` of mpi-operator, or `v1`)"
    ENDS = (
        "PyTorchJob: the Master; without one all workers, or any of an elastic job. TFJob: the Chief; without one "
        "all workers (`successPolicy: AllWorkers`). MPIJob: the Launcher"
    )
    GANG = (
        f"{GANG}. Kueue must list `kubeflow.org/pytorchjob` and `kubeflow.org/tfjob` in `integrations.frameworks`, and "
        "its default does not; of MPIJobs it knows v2beta1 alone. The pods of an MPIJob `v1` have no names, so none "
        "waits"
    )
    ADDS = (
        "PyTorchJob: `PYTHONUNBUFFERED`, `PET_NNODES`, `PET_NPROC_PER_NODE`; with a Master `MASTER_ADDR`, "
        "`MASTER_PORT`, `WORLD_SIZE`, `RANK`, `PET_MASTER_ADDR`, `PET_MASTER_PORT`, `PET_NODE_RANK`, and in workers "
        "the init container `init-pytorch` (`alpine:3.10`); elastic: `PET_RDZV_ENDPOINT`, `PET_RDZV_BACKEND`, "
        "`PET_MAX_RESTARTS`. TFJob: `TF_CONFIG`. MPIJob: `K_MPI_JOB_ROLE`, in the launcher "
        "`OMPI_MCA_orte_keep_fqdn_hostnames`, `OMPI_MCA_orte_default_hostfile`, `OMPI_MCA_plm_rsh_args`, "
        "`OMPI_MCA_orte_set_default_slots`, and unless it is ranked empty `NVIDIA_VISIBLE_DEVICES` and "
        "`NVIDIA_DRIVER_CAPABILITIES`; `/etc/mpi-ssh`, `/etc/mpi`. MPIJob `v1`, in the launcher: "
        "`OMPI_MCA_plm_rsh_agent`, `OMPI_MCA_orte_default_hostfile`, `I_MPI_HYDRA_BOOTSTRAP`, "
        "`I_MPI_HYDRA_BOOTSTRAP_EXEC`; without accelerators empty `NVIDIA_VISIBLE_DEVICES` and "
        "`NVIDIA_DRIVER_CAPABILITIES`; the init container `kubectl-delivery`, `/etc/mpi`, `/opt/kube`"
    )

    INDEX_LABEL = INDEX
    JOB_LABEL = "training.kubeflow.org/job-name"
    POD_KEYS = frozenset([*OWN_LABELS, GROUP_ANNOTATION, "volcano.sh/task-spec"])
    ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE, defaults.NONE)
    READS = frozenset([QUEUE_LABEL])
    # The CRD refuses a change of the queue, and a change of a template would not reach pods that run.
    SUSPENDED = ("spec.runPolicy.suspend",)
    IN_PLACE = (
        *SUSPENDED,
        "spec.runPolicy.ttlSecondsAfterFinished",
        "spec.runPolicy.schedulingPolicy.minAvailable",
        "spec.pytorchReplicaSpecs.*.replicas",
    )
    FIELDS: ClassVar[Fields] = {
        **common_fields("training-operator"),
        "queue": LOCAL_QUEUE,
        "roles": done_by(
            "PyTorchJob: Master (the pod that launches, or a first ranked role of one replica; its end ends the job) "
            "and Worker. TFJob: task types. MPIJob: Launcher and Worker. Other roles are refused"
        ),
        "launcher.mpi": done_by(
            "MPIJob `v2beta1` of mpi-operator, or where the environment has `mpi_job: v1` that of training-operator, "
            f"with a note: {_BY_EXEC}"
        ),
        "launcher.torchrun.elastic": noted(
            "the job is complete when one of its pods is: training-operator then removes the others", elsewhere=True
        ),
        "restart": done_by(
            "`never`: `restartPolicy: Never`; `on-failure`, `N times`: `OnFailure` with `runPolicy.backoffLimit`; "
            "`all-when-evicted` is refused; `exit_codes: [128-255]`: `ExitCode`, without a limit. An evicted pod of an "
            "MPIJob `v1` ends the job; with `v2beta1` the limit is that of the launcher, and a lost worker ends the "
            "job by `mpirun`"
        ),
        "network.host": noted(
            "every pod of a PyTorchJob or TFJob declares the main port, so each needs its own node: "
            "training-operator would else declare 23456 or 2222, the same in every job",
            elsewhere=True,
        ),
        "network.ports": refused(
            "the value gives each replica its own pod template, and a job of training-operator has one for all "
            "replicas of a type",
            "remove it; pods with the same host port then need nodes of their own",
        ),
        "network.wait": done_by("before it, workers wait up to 200 s for a Master, in an init container"),
        "prepare.*.roles": done_by(_STEPS),
        "prepare.*.on": done_by(_STEPS),
    }
    LOOKUP_CONTAINERS = frozenset([WAITING])
    LACKS = frozenset([EXTRA_ROLES, JOB_RESTARTS, STEPS_OF_ONE_POD, RESTART_RULES])

    def operator(self, experiment: Experiment, environment: Environment) -> Operator:
        chosen = "" if experiment.launcher.mpi is None else environment.mpi_job
        return next(operator for operator in self.OPERATORS if operator.mpi_job == chosen)

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        return _NAMINGS[self.operator(experiment, environment).mpi_job]

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with roles without a replica type, with restarts that the job cannot express, and with what
        an MPIJob cannot do."""
        yield from super().problems(plan)
        yield from follows(plan, "annotations", QUEUE_ANNOTATION, "`queue`")
        if plan.operator.mpi_job:
            yield from mpi_operator.problems(plan) if is_v2(plan) else _mpi_problems(plan)
            for role in plan.roles:
                if role.restart_rule is not None:
                    fix = f"write on-failure, or {another_backend(RESTART_RULES)}"
                    yield Problem(role.restart_path, None, "the operator has no exit codes for an MPIJob", fix)

    def notes(self, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[str]:
        """Yield a note on each step of `prepare` for which workers of a PyTorchJob wait, and on pods that run on."""
        yield from left_running(plan, job_body(manifests)["spec"]["runPolicy"], "spec.runPolicy")
        if plan.naming.agent is not None:
            yield f"launcher.mpi: {_BY_EXEC}; if that is not wanted, write `mpi_job: v2beta1` in the environment"
        if kind_of(plan).kind == "PyTorchJob" and plan.ranked[0].group == "master":
            master, others = plan.ranked[0], plan.ranked[1:]
            alone = {*master.prepared}.difference(*(role.prepared for role in others)) if others else ()
            yield from (
                f"prepare[{step}]: {_OF_THE_MASTER}; {another_backend(STEPS_OF_ONE_POD)}" for step in sorted(alone)
            )

    def suspend_fix(self, plan: Plan) -> str:
        """Return the version of an MPIJob that can be suspended."""
        return "write `mpi_job: v2beta1` in the environment" if plan.operator.mpi_job == "v1" else ""

    def conventions(self, plan: Plan) -> PodConventions:
        """Return the index by the operator's label, and the variables that it appends in this kind of job."""
        kind = kind_of(plan)
        types = [kind.types.get(role.group, role.name) for role in plan.roles]
        names = appended(kind.kind, plan.totals.pods, types, plan.world.bounds is not None)
        not_appended = {role.name: spared(kind.kind, role, plan.launches) for role in plan.roles}
        if is_v2(plan):
            names = mpi_operator.APPENDED
            not_appended = {role.name: mpi_operator.spared(role, plan.launches) for role in plan.roles}
        return PodConventions(
            self.INDEX_LABEL,
            appended=names,
            spared=not_appended,
            computed=names & {"TF_CONFIG"},
            container=kind.container,
            ports=kind.ports,
            job_deadline=True,
        )

    def job(self, plan: Plan) -> Manifest:
        """Return the job of the launcher's kind. The operator makes the PodGroup."""
        kind = kind_of(plan)
        specs = replica_specs(plan, self.conventions(plan))
        if plan.host_network:
            specs = {name: {**spec, "template": _listening(plan, spec["template"])} for name, spec in specs.items()}
        own, policy = _OWN_FIELDS[kind.kind](plan), run_policy(plan, "priorityClass")
        if is_v2(plan):
            own, policy = mpi_operator.own_fields(plan), mpi_operator.run_policy(plan, policy)
        spec = {**own, "runPolicy": policy, kind.field: specs}
        annotations = {QUEUE_ANNOTATION: plan.queue.name} if plan.admission == defaults.VOLCANO else {}
        labels = queue_labels(plan)
        return job_manifest(plan, kind.kind, without_empty(spec), labels=labels, annotations=annotations)

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        job = job_body(manifests)
        return (mpi_operator.controller_pods(job), {}) if is_v2(plan) else controller_objects(job)

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        """Return the pods that end the job. Source: training-operator 1.9.3, pkg/controller.v1 (`UpdateJobStatus`)."""
        if any(left_running(plan, job_body(manifests)["spec"]["runPolicy"], "spec.runPolicy")):
            return ()
        first = plan.ranked[0]
        if plan.world.bounds is not None and first.replicas > 1:
            return (Ending(f"the first pod of the role {first.name} that succeeds", (first.name,)),)
        master = next((role.name for role in plan.roles if role.group == "master"), None)
        return ends_with_role(plan, plan.ending_role if master is None else master)


def _pytorch(plan: Plan) -> dict[str, Any]:
    """Return a PyTorchJob's own fields: processes per node if all roles have the same number (then the operator's
    WORLD_SIZE counts processes), and the bounds of an elastic job."""
    number = common_number(plan, "NPROC_PER_NODE")
    fields: dict[str, Any] = {"nprocPerNode": None if number is None else str(number)}
    if plan.world.bounds is not None:
        least, most = plan.world.bounds
        restarts = common_number(plan, "MAX_RESTARTS")
        policy = {"minReplicas": least, "maxReplicas": most, "rdzvBackend": "c10d", "maxRestarts": restarts}
        fields["elasticPolicy"] = without_empty(policy)
    return fields


def _mpi(plan: Plan) -> dict[str, Any]:
    return {"slotsPerWorker": common_number(plan, "NPROC_PER_NODE"), "mainContainer": kind_of(plan).container}


_OWN_FIELDS = {"PyTorchJob": _pytorch, "TFJob": lambda plan: {"successPolicy": ALL_WORKERS}, "MPIJob": _mpi}


def _listening(plan: Plan, template: dict[str, Any]) -> dict[str, Any]:
    """Return the template with the port that the operator needs. Without it the operator declares a constant number,
    which on the host network is a host port, the same in every job."""
    kind, spec, number = kind_of(plan), template["spec"], plan.rendezvous.own_port
    if not kind.port or main_port(kind, spec) is not None:
        return template
    port = {"name": kind.port_name, "containerPort": number, "hostPort": number, "protocol": "TCP"}
    containers = [
        {**each, "ports": [*each.get("ports", []), port]} if each["name"] == kind.container else each
        for each in spec["containers"]
    ]
    return {**template, "spec": {**spec, "containers": containers}}


def _mpi_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with an MPIJob. training-operator writes its hostfile: the workers, and the launcher if it
    requests a GPU, all with the same number of slots."""
    if plan.ssh is not None:
        reason = "an MPIJob does not use SSH: its pods have no DNS names, and `kubectl exec` starts the processes"
        yield Problem("ssh", None, reason, "remove it")
    if plan.services:
        reason = "an MPIJob does not use Services: its processes find each other by MPI"
        yield Problem("network.addresses", "service", reason, "remove it")
    if common_number(plan, "NPROC_PER_NODE") is None:
        reason = "the roles have different numbers of processes, and an MPIJob has one `slotsPerWorker`"
        yield Problem("roles", None, reason, "give them the same accelerators, or write `processes_per_node`")
    launcher = next((role for role in plan.roles if role.name == plan.launches), None)
    if launcher is None or launcher.ranked == any(GPU in resource for resource in launcher.resources):
        return
    if launcher.ranked:
        reason = (
            "the launcher is ranked, and training-operator counts it as a node only if it requests a resource with "
            f"`{GPU}` in the name"
        )
        fix = (
            "launch from another role: `launcher: {ranked: false}`, and `role: launcher` in `launcher.mpi`; or write "
            "`mpi_job: v2beta1` in the environment"
        )
    else:
        reason = (
            f"the unranked launcher requests a resource with `{GPU}` in the name, so training-operator counts it as a "
            "node"
        )
        fix = "remove it, or leave `ranked` out and put the role first"
    yield Problem(f"roles.{launcher.name}", None, reason, fix)
