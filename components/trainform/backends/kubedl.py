"""KubeDL: `training.kubedl.io/v1alpha1` TFJob and PyTorchJob.

On the host network KubeDL draws a port for each pod when it makes it, and tells the pod: MASTER_PORT, or the pod's own entry in TF_CONFIG. Peers
call the constant port of a Service. So the plan leaves these values to it. It makes a PodGroup for each role, and workers only
once the pods of the Master, or of all parameter servers, run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trainform.backends.decided import changes, follows
from trainform.backends.gangs import GROUP_ANNOTATION, PODGROUP_CRDS
from trainform.backends.job_kinds import kind_of, rendered_kind, rendered_specs
from trainform.backends.kubedl_fields import RELEASE, dropped
from trainform.backends.kubedl_pods import HOST, NETWORK_ANNOTATION, OWN_LABELS, appended, controller_pods
from trainform.backends.kubedl_pods import INDEX_LABEL as INDEX
from trainform.backends.kubeflow_replicas import (
    ALL_WORKERS,
    Maker,
    backoff_limit,
    replica_changes,
    replica_problems,
    replica_specs,
    replica_types,
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
from trainform.manifests.pods import pod_template
from trainform.plan.model import Ending, Plan
from trainform.policy.templates import Template

API_VERSION = "training.kubedl.io/v1alpha1"
INDEX_LABEL = INDEX
MAKES = f"PyTorchJob or TFJob (`{API_VERSION}`)"
ENDS = "PyTorchJob: the Master and all workers. TFJob: the Chief; without one all workers (`successPolicy: AllWorkers`)"
ADMISSIONS = (defaults.VOLCANO,)
IN_PLACE = ("spec.ttlSecondsAfterFinished",)  # PodGroups and pods are never brought up to date
_DECIDED = (
    f"metadata.annotations.{NETWORK_ANNOTATION}",
    "spec.schedulingPolicy.queue",
    "spec.schedulingPolicy.minAvailable",
)
ADDS = (
    "PyTorchJob: `PYTHONUNBUFFERED`, and `MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE` and `RANK`, in which a process sees the plan's values; on the host "
    "network the first two are KubeDL's, with the port that it draws. TFJob: `TF_CONFIG`, which the plan's own replaces, but not on the host network"
)

UNKNOWN = f"came to Kubernetes after {RELEASE}, whose pods KubeDL's CRDs have: the API server would drop it"
MAKER = Maker("KubeDL", frozenset([*OWN_LABELS, GROUP_ANNOTATION]))
_POLICIES = refused("are lifecycle policies of Volcano, and KubeDL has none", "remove them, and say it in `restart`")
_NO_NAMES = refused(
    "needs names for all pods: KubeDL gives one to the Master of a PyTorchJob, and to a TFJob's pods for one port",
    "use the backend volcano, jobset or kubeflow",
)
FIELDS: Fields = {
    "runtime": OF_TRAINER,
    "roles": done_by(
        "replica types. PyTorchJob: a first ranked role of one replica is Master, another ranked role is Worker, and the end of all ends the job. "
        "TFJob: by task type, without an evaluator. Extras are refused"
    ),
    "launcher.deepspeed": _NO_NAMES,
    "launcher.mpi": _NO_NAMES,
    "launcher.torchrun.elastic": refused(
        "needs a Master in KubeDL, an AIMaster beside it, and OpenKruise", "remove it, or use the backend volcano or kubeflow"
    ),
    "ssh": _NO_NAMES,
    "queue": done_by("`schedulingPolicy.queue`; KubeDL makes a PodGroup for each role, and places them one after the other"),
    "priority_class": done_by("of the pods, and `schedulingPolicy.priorityClassName`"),
    "restart": done_by(
        "never: `restartPolicy: Never`; on-failure, N times: `OnFailure` with `backoffLimit`; all-when-evicted is refused. KubeDL's ExitCode (a pod that "
        "was killed or evicted is made anew, any other failure ends the job) by `pod_overrides: {spec: {restartPolicy: ExitCode}}`"
    ),
    "max_retry": noted("has no effect: KubeDL never starts a whole job anew"),
    "roles.*.max_retry": done_by("`backoffLimit`: one number for the job, counted over all pods that start their containers again"),
    "ttl": done_by("`ttlSecondsAfterFinished`; updates in place"),
    "policies": _POLICIES,
    "roles.*.policies": _POLICIES,
    "roles.*.min_available": refused(
        "asks for a part of the role, and KubeDL's PodGroup of a role always holds all its pods",
        "remove it, or use the backend volcano or jobset",
    ),
    "network.host": noted(
        f"by the annotation `{NETWORK_ANNOTATION}: {HOST}` KubeDL draws a host port for each pod when it makes it, out of a range of its own, and a new "
        "one when the pod fails over; peers call the constant port of its Service. MASTER_ADDR and MASTER_PORT, or TF_CONFIG, come from KubeDL"
    ),
    "network.port": done_by("on the host network: the constant port of KubeDL's Services"),
    "network.ports": done_by("per-replica or not: KubeDL draws a port for each pod"),
    "network.addresses": refused("are KubeDL's own: it makes the Services itself, with constant ports", "remove it"),
    "roles.*.pod_overrides": done_by(f"as far as the pods of Kubernetes {RELEASE} have the fields, which are those of KubeDL's CRDs; newer ones are refused"),
    "network.topology": refused(
        "is the PodGroup's, which KubeDL makes without it", "remove it, or use the backend volcano or jobset"
    ),
}  # fmt: skip


def crds(plan: Plan) -> tuple[str, ...]:
    """The job's kind, and the PodGroup that KubeDL makes."""
    return (f"{kind_of(plan).plural}.training.kubedl.io", *PODGROUP_CRDS)


def shapes(plan: Plan) -> dict[str, Any]:
    """The job's."""
    return {"job": shape(plan, {"schedulingPolicy!": {"minAvailable!": int, "queue!": str}})}


def problems(plan: Plan) -> Iterator[Problem]:
    """Roles without a replica type, a PyTorchJob without a Master, which KubeDL reads without looking, an evaluator, which it never makes, and
    fields that the API server would drop."""
    yield from replica_problems(plan, MAKER)
    yield from follows(plan, "annotations", NETWORK_ANNOTATION, "`network: {host: true}`")
    static = plan.launches is None and plan.world.bounds is None  # the others are refused as such
    if static and "master" in kind_of(plan).types and plan.ranked[0].group != "master":
        reason = f"is the first role and has {plan.ranked[0].replicas} replicas, and a PyTorchJob of KubeDL's must have a Master of one"
        fix = "begin with a role of one replica: `master: {replicas: 1}`, and the rest in a role after it"
        yield Problem(f"roles.{plan.ranked[0].name}.replicas", plan.ranked[0].replicas, reason, fix)
    conventions = operator(plan)
    for role in plan.roles:
        if not role.overrides:
            continue
        for where in dropped(pod_template(plan, role, next(role.groups()), conventions).get("spec")):
            yield Problem(
                f"roles.{role.name}.pod_overrides.spec.{where}", None, UNKNOWN, "remove it, or use another backend"
            )
    for role in plan.ranked:
        if plan.launcher == "tensorflow" and role.group == "evaluator":
            reason = "is an evaluator, for which KubeDL never makes pods"
            yield Problem(
                f"roles.{role.name}", None, reason, "remove it, or use the backend volcano, jobset or kubeflow"
            )


def operator(plan: Plan) -> Operator:
    """The index by KubeDL's label; what it appends, of which TF_CONFIG stays where it draws the ports."""
    kind = kind_of(plan)
    names = appended(kind.kind, plan.totals.pods)
    drawn = plan.naming.draws_ports
    return Operator(
        INDEX_LABEL,
        appended=names,
        computed=frozenset() if drawn else names & {"TF_CONFIG"},
        container=kind.container,
        ports=kind.ports,
        draws_ports=drawn,
    )


def files(plan: Plan) -> dict[str, str]:
    """None."""
    return {}


def further(plan: Plan) -> list[Manifest]:
    """Nothing: KubeDL makes the PodGroups."""
    return []


def job(plan: Plan) -> Manifest:
    """The job of the launcher's kind. The run policy stands in the spec itself."""
    kind = kind_of(plan)
    scheduling = {
        "minAvailable": plan.min_available,
        "queue": plan.queue.name,
        "priorityClassName": plan.priority_class,
    }
    spec = {
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": plan.ttl_seconds,
        "backoffLimit": backoff_limit(plan),
        "schedulingPolicy": without_empty(scheduling),
        "successPolicy": _success(plan),
        kind.field: replica_specs(plan, operator(plan)),
    }
    body = {
        "apiVersion": API_VERSION,
        "kind": kind.kind,
        "metadata": job_metadata(plan, annotations={NETWORK_ANNOTATION: HOST} if plan.host_network else {}),
        "spec": without_empty(spec),
    }
    return Manifest("job", body, revision=plan.revision)


def templates(plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
    """Of each replica type."""
    return replica_templates(plan, job_body(manifests))


def pods(plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """What KubeDL would make of the rendered job; it needs no further object."""
    return controller_pods(job_body(manifests)), {}


def endings(plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
    """By the kind of the rendered job."""
    body = job_body(manifests)
    return _ENDINGS[body["kind"]](body)


def replanned(key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Queue, numbers of pods and who draws their ports, and fields that the API server would drop."""
    yield from changes(_DECIDED, rendered, patched)
    yield from replica_changes(rendered, patched)
    before = {*_dropped(rendered)}
    yield from ((where, UNKNOWN) for where in _dropped(patched) if where not in before)


def _dropped(job: dict[str, Any]) -> Iterator[str]:
    field = rendered_kind(job).field
    for name, replicas in rendered_specs(job).items():
        for where in dropped(replicas["template"].get("spec")):
            yield f"spec.{field}.{name}.template.spec.{where}"


def _success(plan: Plan) -> str | None:
    """Without a chief a TFJob is complete when all workers are, and not when the first of them is."""
    workers = plan.launcher == "tensorflow" and all(role.group != "chief" for role in plan.roles)
    return ALL_WORKERS if workers else None


def _tensorflow_endings(job: dict[str, Any]) -> tuple[Ending, ...]:
    """Source: KubeDL 0.5.0, controllers/tensorflow/status.go. With a chief `AllWorkers` waits for both."""
    types = replica_types(job)
    if "Chief" not in types:
        return worker_endings(job)
    both = job["spec"].get("successPolicy") == ALL_WORKERS and "Worker" in types
    return type_endings(job, "Chief", *(["Worker"] if both else []))


# A PyTorchJob is complete when its Master and all workers are (controllers/pytorch/status.go), and no pod is left then.
_ENDINGS: dict[str, Callable[[dict[str, Any]], tuple[Ending, ...]]] = {
    "PyTorchJob": lambda job: (),
    "TFJob": _tensorflow_endings,
}
