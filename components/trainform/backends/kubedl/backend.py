"""KubeDL: `training.kubedl.io/v1alpha1` TFJob and PyTorchJob.

On the host network KubeDL draws a port for each pod when it makes the pod, and sets it in MASTER_PORT or in the pod's
own entry of TF_CONFIG. Peers connect to the constant port of a Service. So the plan leaves these values to KubeDL.
KubeDL makes a PodGroup for each role, and it makes workers only when the pods of the Master, or of all parameter
servers, run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION
from trainform.backends.backend import Finder, PodRestarts, Pods
from trainform.backends.kubedl.controller import (
    ELASTIC_ANNOTATIONS,
    HOST,
    NETWORK_ANNOTATION,
    OWN_LABELS,
    appended,
    controller_pods,
)
from trainform.backends.kubedl.controller import INDEX_LABEL as INDEX
from trainform.backends.outcome import by_condition, ends_with_role, failed_of_types
from trainform.backends.refusals import EVALUATORS, EXTRA_ROLES, JOB_RESTARTS, RESTART_RULES, another_backend
from trainform.backends.replica_specs.kinds import NAMING, kind_of, replica_spec_pods
from trainform.backends.replica_specs.specs import (
    ALL_WORKERS,
    GANG,
    LEFT_RUNNING,
    ON_FAILURE,
    RUNNING,
    OfReplicaSpecs,
    common_fields,
    left_running,
    replica_specs,
    run_policy,
)
from trainform.backends.support import Fields, done_by, follows, noted, refused
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, mapping, without_empty
from trainform.manifests.objects import job_manifest
from trainform.plan.model import Ending, Plan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

_NO_NAMES = refused(
    "the field needs a DNS name for every pod, and KubeDL gives one only to the Master of a PyTorchJob, and to a "
    "TFJob's pods for one port",
    elsewhere=True,
)

ENTRYPOINT = "launcher.entrypoint"  # of several pods
_ELASTIC = "KubeDL runs the pods in another way than planned, for programs that the job does not have"


def _on_its_network(find: Finder) -> Callable[[dict[str, Any]], Iterator[Pods]]:
    """Find the pods with the host network, and with the port, that KubeDL gives them by an annotation of the job."""

    def found(body: dict[str, Any]) -> Iterator[Pods]:
        annotations = mapping(mapping(body.get("metadata")).get("annotations"))
        on_host = annotations.get(NETWORK_ANNOTATION) == HOST
        for pods in find(body):
            template = pods.template
            changed = {**template.body, "spec": {**template.spec, "hostNetwork": True}} if on_host else template.body
            # KubeDL's name for the port for which it draws a number. Source: KubeDL 0.5.0, apis/training/v1alpha1
            drawn = f"{str(body.get('kind')).lower()}-port" if on_host else ""
            yield structs.replace(pods, template=structs.replace(template, body=changed, drawn=drawn))

    return found


PODS: Mapping[str, tuple[Finder, ...]] = {
    kind: tuple(map(_on_its_network, finders)) for kind, finders in replica_spec_pods("training.kubedl.io").items()
}

API_VERSION = "training.kubedl.io/v1alpha1"


class KubeDL(OfReplicaSpecs):
    """KubeDL: a PyTorchJob or TFJob of replica specs."""

    OPERATORS = (
        Operator(
            "KubeDL", "training.kubedl.io", API_VERSION, "kubedl-system/kubedl-controller", ("pytorchjobs", "tfjobs")
        ),
    )
    OUTCOME = by_condition("Succeeded", failed_pods=failed_of_types)
    PODS = PODS
    RESTARTS = PodRestarts(
        "KubeDL restarts pods by exit code (`ExitCode`) upon 130, 137, 138 and 143",
        (130, 137, 138, 143),
        "130, 137, 138, 143",
    )

    MAKES = f"PyTorchJob or TFJob (`{API_VERSION}`)"
    ENDS = (
        "PyTorchJob: the Master and all workers. TFJob: the Chief; without one all workers (`successPolicy: "
        "AllWorkers`)"
    )
    GANG = f"{GANG}. Workers of a PyTorchJob have no names, so no pod waits for them"
    ADDS = (
        "PyTorchJob: `PYTHONUNBUFFERED`, `MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE`, `RANK`. TFJob: `TF_CONFIG`. On "
        "the host network `MASTER_ADDR` and `MASTER_PORT`, or `TF_CONFIG`, keep KubeDL's values, with the port that "
        "it chooses"
    )

    INDEX_LABEL = INDEX
    JOB_LABEL = "job-name"
    POD_KEYS = frozenset([*OWN_LABELS, GROUP_ANNOTATION])
    ADMISSIONS = (defaults.VOLCANO, defaults.NONE)
    IN_PLACE = ("spec.ttlSecondsAfterFinished",)  # KubeDL never updates PodGroups and pods
    FIELDS: ClassVar[Fields] = {
        **common_fields("KubeDL"),
        "roles": done_by(
            "PyTorchJob: Master (a first ranked role of one replica) and Worker; the end of all ends the job. TFJob: "
            "task types, without an evaluator. Other roles are refused"
        ),
        "launcher.deepspeed": _NO_NAMES,
        "launcher.mpi": _NO_NAMES,
        "launcher.torchrun.elastic": refused(
            "an elastic job of KubeDL needs a Master, an AIMaster and OpenKruise", "remove it", elsewhere=True
        ),
        "ssh": _NO_NAMES,
        "queue": done_by("each role has its own PodGroup, and they are placed one after the other"),
        "restart": done_by(
            "`never`: `restartPolicy: Never`; `on-failure`, `N times`: `OnFailure` with `backoffLimit`; "
            "`all-when-evicted` is refused. An evicted pod ends the job, but "
            "`exit_codes: [130, 137, 138, 143]` (`ExitCode`) recreates a killed or evicted pod, without a limit"
        ),
        "roles.*.min_available": refused(
            "the value lets a part of the role's pods start, and KubeDL's PodGroup of a role always has all its pods",
            "remove it",
            elsewhere=True,
        ),
        "network.host": noted(
            f"by the annotation `{NETWORK_ANNOTATION}: {HOST}` KubeDL draws a host port for each pod when it makes "
            "it, out of a range of its own, and a new one when the pod fails over; peers call the constant port of "
            "its Service. MASTER_ADDR and MASTER_PORT, or TF_CONFIG, come from KubeDL",
            elsewhere=True,
        ),
        "network.port": done_by("on the host network: the constant port of KubeDL's Services"),
        "network.ports": done_by("per-replica or not: KubeDL draws a port for each pod"),
        "network.addresses": refused(
            "KubeDL decides the addresses: it makes the Services itself, with constant ports", "remove it"
        ),
        "roles.*.pod_overrides": done_by(
            "fields of pods of Kubernetes 1.22, as in KubeDL's CRDs; newer ones are refused"
        ),
    }
    READS = frozenset([NETWORK_ANNOTATION, *ELASTIC_ANNOTATIONS])
    LACKS = frozenset([EXTRA_ROLES, EVALUATORS, JOB_RESTARTS, ENTRYPOINT, RESTART_RULES])

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """Return addresses of the Services that KubeDL makes for pods, without workers of a PyTorchJob; on the host
        network it draws the ports."""
        named = experiment.launcher.tensorflow is not None
        return structs.replace(NAMING, draws_ports=experiment.network.host, named=named, gang_of_role=True)

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with roles without a replica type, with a PyTorchJob without a Master, on which KubeDL
        crashes, and with an evaluator, for which it never makes pods."""
        yield from super().problems(plan)
        yield from follows(plan, "annotations", NETWORK_ANNOTATION, "`network: {host: true}`")
        for key in ELASTIC_ANNOTATIONS:
            if key in plan.annotations:
                yield Problem(f"annotations.{key}", plan.annotations[key], _ELASTIC, "remove it")
        static = plan.launches is None and plan.world.bounds is None  # other jobs are refused anyway
        if static and "master" in kind_of(plan).types and plan.ranked[0].group != "master":
            reason = "the first role is the Master of KubeDL's PyTorchJob, which must have 1 replica"
            fix = (
                another_backend(ENTRYPOINT)
                if plan.launcher == "entrypoint"  # which has one ranked role
                else "begin with a role of one replica, `master: {replicas: 1}`, and put the other replicas in a "
                "second role"
            )
            yield Problem(f"roles.{plan.ranked[0].name}.replicas", plan.ranked[0].replicas, reason, fix)
        for role in plan.ranked:
            if plan.launcher == "tensorflow" and role.group == "evaluator":
                reason = "the role is an evaluator, for which KubeDL never makes pods"
                yield Problem(f"roles.{role.name}", None, reason, f"remove it, or {another_backend(EVALUATORS)}")

    def notes(self, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[str]:
        """Yield notes on pods that run on after the end, and on a job that does not end. KubeDL 0.5.0
        (`deletePodsAndServices`) deletes a Service with each pod before it says that the job has failed. A worker of a
        PyTorchJob has none, so it stops there, and makes the pod again."""
        yield from _left_running(plan, manifests)
        kind = kind_of(plan)
        if kind.kind == "PyTorchJob" and len(plan.roles) > 1 and any(role.restart == ON_FAILURE for role in plan.roles):
            yield (
                "restart: KubeDL never ends a PyTorchJob with workers for its container restarts: where there are "
                "too many, it deletes pods that run and makes them again; write `restart: never` to end the job at "
                "the first failure"
            )

    def conventions(self, plan: Plan) -> PodConventions:
        """Return the index by KubeDL's label, and the variables that KubeDL appends. If KubeDL draws the ports, its
        TF_CONFIG is kept."""
        kind = kind_of(plan)
        names = appended(kind.kind, plan.totals.pods)
        drawn = plan.naming.draws_ports
        return PodConventions(
            self.INDEX_LABEL,
            appended=names,
            computed=frozenset() if drawn else names & {"TF_CONFIG"},
            container=kind.container,
            ports=kind.ports,
            draws_ports=drawn,
            job_deadline=True,
        )

    def job(self, plan: Plan) -> Manifest:
        """Return the job of the launcher's kind; the fields of the run policy are in the spec itself. KubeDL makes the
        PodGroups."""
        kind = kind_of(plan)
        # without a chief a TFJob would be complete with its first worker
        by_workers = plan.launcher == "tensorflow" and all(role.group != "chief" for role in plan.roles)
        spec = {
            **run_policy(plan, "priorityClassName"),
            "successPolicy": ALL_WORKERS if by_workers else None,
            kind.field: replica_specs(plan, self.conventions(plan)),
        }
        annotations = {NETWORK_ANNOTATION: HOST} if plan.host_network else {}
        return job_manifest(plan, kind.kind, without_empty(spec), annotations=annotations)

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        return controller_pods(job_body(manifests)), {}

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        """Return the role that ends a TFJob. A PyTorchJob is complete when its Master and all workers are, so no other
        pod is left then. Source: KubeDL 0.5.0, controllers/tensorflow/status.go and controllers/pytorch/status.go."""
        is_left = plan.launcher != "tensorflow" or any(_left_running(plan, manifests))
        return () if is_left else ends_with_role(plan, plan.ending_role)


def _left_running(plan: Plan, manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield a note if pods may run on. By default pods of a TFJob are deleted, and those of a PyTorchJob are not."""
    job = job_body(manifests)
    yield from left_running(plan, job["spec"], "spec", RUNNING if job["kind"] == "TFJob" else LEFT_RUNNING)
