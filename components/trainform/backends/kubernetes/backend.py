"""Kubernetes without an operator: one Indexed Job (`batch/v1`), with trainform's own rendezvous and SSH.

A Job has one pod template, so an experiment has one role, whose completion index is the rank. Where one pod starts all
processes, pod 0 launches, and `successPolicy` ends the Job with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import (
    LOCAL_QUEUE,
    QUEUE_LABEL,
    admission_crds,
    gang_problems,
    in_gang,
    pod_group,
    queue_labels,
)
from trainform.backends.backend import DEADLINE, Backend, PodRestarts, PodsAt
from trainform.backends.kubernetes.controller import job_pods
from trainform.backends.kubernetes.indexed_job import INDEX_LABEL, INDEX_VARIABLE, OWN_KEYS, backoff_limit, indexed_job
from trainform.backends.outcome import by_condition
from trainform.backends.refusals import EXTRA_ROLES, JOB_RESTARTS, another_backend
from trainform.backends.support import (
    LIMITED_RESTARTS,
    NO_RUNTIME,
    Fields,
    done_by,
    no_policies,
    noted,
    pods_stay,
    refused,
)
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import SKIP_AWAIT, job_manifest
from trainform.manifests.pods import pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan, RolePlan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

_PODS = PodsAt("spec", counts=("parallelism",), run_time=DEADLINE)
_LAUNCHES = done_by(
    "pod 0 of the role launches, and its success ends the job (`successPolicy`, Kubernetes 1.31 or newer)"
)

API_VERSION = "batch/v1"


class Kubernetes(Backend):
    """Kubernetes: a Job of the pods of one role."""

    OPERATORS = (Operator("Kubernetes", "batch", API_VERSION, "kube-system/kube-controller-manager", ("jobs",)),)
    PODS: ClassVar = {"batch/Job": (_PODS,)}
    RESTARTS = PodRestarts(counts=True)
    OUTCOME = by_condition("Complete")
    MAKES_GANGS = True

    MAKES = f"Indexed Job (`{API_VERSION}`), with Volcano's admission a PodGroup"
    ENDS = "`successPolicy` on index 0, for deepspeed and mpi"
    ADDS = f"`{INDEX_VARIABLE}`"

    INDEX_LABEL = INDEX_LABEL
    POD_KEYS = OWN_KEYS
    ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE, defaults.NONE)
    SUSPENDED = ("spec.suspend",)
    # Pulumi's provider replaces a Job whose `parallelism` or `completions` changes (provider/pkg/provider/diff.go).
    IN_PLACE = (*SUSPENDED, "spec.ttlSecondsAfterFinished")
    FIELDS: ClassVar[Fields] = {
        **NO_RUNTIME,
        "roles": done_by("one ranked role; any other is refused"),
        "launcher.deepspeed": _LAUNCHES,
        "launcher.mpi": _LAUNCHES,
        "launcher.torchrun.elastic": noted(
            "Pulumi replaces a Job whose number of pods changes, so another number of replicas is a new revision here "
            "and no change in place",
            elsewhere=True,
        ),
        "network.ports": refused(
            "the value gives each replica its own pod template, and a Job has one",
            "remove it; pods with the same host port then need nodes of their own",
        ),
        "queue": LOCAL_QUEUE,
        "restart": done_by(
            "`never`: `backoffLimit: 0`; `on-failure`, `N times`: `OnFailure` with a `backoffLimit`; "
            "`all-when-evicted` is refused. Rules are the `podFailurePolicy` of the Job"
        ),
        "max_retry": noted("it has no effect, since a Job never starts anew", LIMITED_RESTARTS, elsewhere=True),
        "max_run_time": done_by("`activeDeadlineSeconds` of the Job"),
        "ttl": done_by("updates in place"),
        **no_policies("Kubernetes"),
        **pods_stay("Kubernetes"),
    }
    READS = frozenset([QUEUE_LABEL])
    ONE_ROLE = True
    SPLITS_LAUNCHER = False

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """Return the hostnames of an Indexed Job's pods, whose names have a random end."""
        return Naming(pod="{job}-{index}", address="{pod}.{service}", own_service=True)

    def crds(self, plan: Plan) -> tuple[str, ...]:
        return admission_crds(plan)

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with admission, with more than one role, and with restarts of the whole job."""
        yield from gang_problems(plan)
        only = plan.ranked[0].name
        for role in plan.roles:
            if role.name != only:
                reason = f"a Job has one pod template, which is that of the role {only}"
                yield Problem(f"roles.{role.name}", None, reason, _fix_of_role(plan, role))
            elif role.restarts_job:
                reason = "the value starts the whole job anew, and a Job cannot do that"
                fix = f"write on-failure, or {another_backend(JOB_RESTARTS)}"
                yield Problem(f"roles.{role.name}.restart", "all-when-evicted", reason, fix)

    def conventions(self, plan: Plan) -> PodConventions:
        return PodConventions(self.INDEX_LABEL, appended=frozenset([INDEX_VARIABLE]), job_deadline=True)

    def prerequisites(self, plan: Plan) -> list[Manifest]:
        """Return the PodGroup, if Volcano admits the job."""
        return pod_group(plan)

    def job(self, plan: Plan) -> Manifest:
        role = plan.ranked[0]
        group = next(role.groups())
        template = in_gang(plan, pod_template(plan, role, group, self.conventions(plan)), group.name, {})
        spec = {
            **indexed_job(plan, role, group, template, backoff_limit(role)),
            "successPolicy": {"rules": [{"succeededIndexes": "0"}]} if self._ends_with_first(plan) else None,
            "ttlSecondsAfterFinished": plan.ttl_seconds,
        }
        labels, annotations = queue_labels(plan), SKIP_AWAIT  # the provider would wait for the end of the Job
        return job_manifest(plan, "Job", without_empty(spec), labels=labels, annotations=annotations)

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """Return the pods. Volcano's gang needs as many as the plan says; otherwise all of them are needed."""
        found = [structs.replace(pods.template, place="") for pods in _PODS(job_body(manifests))]
        if plan.admission != defaults.VOLCANO:
            return found
        return [structs.replace(each, min_available=plan.ranked[0].min_available) for each in found]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        body = job_body(manifests)
        return job_pods(body["metadata"]["name"], body["metadata"]["namespace"], body["spec"]), {}

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        name = plan.ranked[0].name
        return (Ending(f"the first pod of the role {name}", (name,)),) if self._ends_with_first(plan) else ()

    def _ends_with_first(self, plan: Plan) -> bool:
        """Return True if pod 0 starts the processes of the other pods, which only serve."""
        role = plan.ranked[0]
        return role.name == plan.launches and role.replicas > 1


def _fix_of_role(plan: Plan, role: RolePlan) -> str:
    """Return what to do with a role next to the ranked one, whose task type no other role has in TensorFlow."""
    if role.name == plan.launches:
        return f"remove it, and `role` in `launcher.{plan.launcher}`: pod 0 of {plan.ranked[0].name} launches then"
    here = "make the two one role, or " if role.ranked else "remove it, or "
    return f"{'' if role.ranked and plan.launcher == 'tensorflow' else here}{another_backend(EXTRA_ROLES)}"
