"""JobSet: `jobset.x-k8s.io/v1alpha2`, one replicated job for each group of pods, with trainform's own rendezvous and
SSH.

Only suspend and ttl can change in place. Ranks are computed from the completion index, which each pod of an Indexed Job
has as a label.
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
    pod_group,
    queue_labels,
)
from trainform.backends.backend import DEADLINE, Backend, PodRestarts
from trainform.backends.jobset import spec as jobs
from trainform.backends.jobset.controller import controller_pods
from trainform.backends.kubernetes.indexed_job import INDEX_LABEL, INDEX_VARIABLE
from trainform.backends.outcome import by_condition, ends_with_role
from trainform.backends.support import NO_RUNTIME, Fields, done_by, fixed_size, no_policies, pods_stay
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body
from trainform.manifests.objects import job_manifest
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import LABEL_MAX

API_VERSION = "jobset.x-k8s.io/v1alpha2"


class JobSet(Backend):
    """JobSet: one replicated job for each group of pods."""

    OPERATORS = (
        Operator("JobSet", "jobset.x-k8s.io", API_VERSION, "jobset-system/jobset-controller-manager", ("jobsets",)),
    )
    PODS = jobs.PODS
    RESTARTS = PodRestarts(counts=True)
    OUTCOME = by_condition("Completed")
    MAKES_GANGS = True

    MAKES = f"JobSet (`{API_VERSION}`), with Volcano's admission a PodGroup"
    ENDS = "`successPolicy` with the replicated jobs of the role"
    ADDS = f"`{INDEX_VARIABLE}`"

    INDEX_LABEL = INDEX_LABEL
    JOB_LABEL = jobs.JOB_LABEL
    POD_KEYS = jobs.OWN_KEYS
    ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE, defaults.NONE)
    SUSPENDED = ("spec.suspend",)
    IN_PLACE = (*SUSPENDED, "spec.ttlSecondsAfterFinished")
    FIELDS: ClassVar[Fields] = {
        **NO_RUNTIME,
        **pods_stay("JobSet"),
        "queue": LOCAL_QUEUE,
        "restart": done_by(
            "`never`: `backoffLimit: 0`; `on-failure`, `N times`: `OnFailure` with a `backoffLimit`; "
            "`all-when-evicted`: `failurePolicy.maxRestarts`. An unranked role with its own `never` or `N times`, or "
            "for whose success others wait (`dependsOn`), fails the job; any other restarts without limit. Rules are "
            "the `podFailurePolicy` of the role's Job"
        ),
        "max_retry": done_by("`failurePolicy.maxRestarts`, which is one less"),
        "max_run_time": done_by(f"`{DEADLINE}` of each replicated job; a restart of the JobSet begins anew"),
        "ttl": done_by("updates in place"),
        **no_policies("JobSet"),
        "launcher.torchrun.elastic": fixed_size("JobSet"),
    }
    READS = frozenset([QUEUE_LABEL])

    LACKS = frozenset(["launcher.torchrun.elastic"])  # in place

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        return jobs.NAMING

    def crds(self, plan: Plan) -> tuple[str, ...]:
        return ("jobsets.jobset.x-k8s.io", *admission_crds(plan))

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with admission, and with names: the webhook counts the random end of pod names too."""
        yield from gang_problems(plan)
        for role in plan.roles:
            group = list(role.groups())[-1]
            longest = plan.naming.pod_name(plan.job, group.name, max(group.replicas - 1, 0))
            over = len(longest) + jobs.SUFFIX - LABEL_MAX
            if 0 < over <= jobs.SUFFIX:  # the rules report longer names
                yield Problem(
                    f"roles.{role.name}",
                    None,
                    f"the name of its pod {longest} has {len(longest)} characters, and JobSet allows "
                    f"{LABEL_MAX - jobs.SUFFIX}",
                    f"shorten the experiment's or the role's name by {over}",
                )

    def conventions(self, plan: Plan) -> PodConventions:
        """Return the index by the label of Indexed Jobs, whose controller also sets a variable with it."""
        return PodConventions(self.INDEX_LABEL, appended=frozenset([INDEX_VARIABLE]), job_deadline=True)

    def prerequisites(self, plan: Plan) -> list[Manifest]:
        """Return the PodGroup, if Volcano admits the job."""
        return pod_group(plan)

    def job(self, plan: Plan) -> Manifest:
        spec = jobs.replicated_jobs_spec(plan, self.conventions(plan))
        return job_manifest(plan, "JobSet", spec, labels=queue_labels(plan))

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """Return the pods. Volcano's gang needs as many as the plan says; otherwise all of them are needed."""
        found = jobs.templates(job_body(manifests)["spec"])
        if plan.admission != defaults.VOLCANO:
            return found
        groups = (group for role in plan.roles for group in role.groups())
        return [
            structs.replace(each, min_available=group.min_available) for each, group in zip(found, groups, strict=True)
        ]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        body = job_body(manifests)
        return controller_pods(body["metadata"], body["spec"]), {}

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        return ends_with_role(plan, plan.ending_role)
