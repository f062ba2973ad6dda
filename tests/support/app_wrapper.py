"""A backend that trainform does not have: AppWrapper, which holds a Job of Kubernetes for each group of pods.

It is added as any backend is, by a class and a row of the table (`registered`), and shows that nothing else is needed.

Source: project-codeflare/appwrapper, `api/v1beta2`, `internal/webhook` (components never change, at most 8 sets of
pods) and `internal/controller/appwrapper` (`createComponent`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from trainform import defaults
from trainform.backends.admission import (
    QUEUE_LABEL,
    admission_crds,
    gang_problems,
    in_gang,
    least_of_groups,
    pod_group,
    queue_labels,
)
from trainform.backends.backend import Backend
from trainform.backends.outcome import by_condition
from trainform.backends.refusals import JOB_RESTARTS, RESTART_RULES, another_backend
from trainform.backends.support import NO_RUNTIME, Fields, no_policies
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import job_manifest
from trainform.manifests.pods import pod_from_template, pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Group, Plan, RolePlan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

NAME = "appwrapper"
MOST_POD_SETS = 8
OWNER_LABEL = "workload.codeflare.dev/appwrapper"
RETRIES = "workload.codeflare.dev.appwrapper/retryLimit"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
OWN_KEYS = ("workload.codeflare.dev/", "batch.kubernetes.io/", "job-name", "controller-uid")


@contextmanager
def registered() -> Iterator[str]:
    """Yield the name of the backend, known in files as long as this lasts."""
    before = dict(defaults.BACKENDS)
    defaults.BACKENDS[NAME] = f"{__name__}:AppWrapper"
    try:
        yield NAME
    finally:
        defaults.BACKENDS.clear()
        defaults.BACKENDS.update(before)


API_VERSION = "workload.codeflare.dev/v1beta2"


class AppWrapper(Backend):
    """An AppWrapper of Jobs, each of which numbers its pods."""

    OPERATORS = (
        Operator(
            "AppWrapper",
            "workload.codeflare.dev",
            API_VERSION,
            "appwrapper-system/appwrapper-controller-manager",
            ("appwrappers",),
        ),
    )
    MAKES_GANGS = True
    OUTCOME = by_condition("Succeeded")

    MAKES = f"AppWrapper (`{API_VERSION}`), with Volcano's admission a PodGroup"
    ENDS = "nothing: every pod must end by itself"
    ADDS = f"`{INDEX_VARIABLE}`"

    INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
    POD_KEYS = frozenset(OWN_KEYS)
    ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE)
    IN_PLACE = ("spec.suspend",)
    FIELDS: ClassVar[Fields] = {**NO_RUNTIME, **no_policies("AppWrapper")}
    LACKS = frozenset([JOB_RESTARTS, RESTART_RULES, "launcher.torchrun.elastic"])  # components never change
    READS = frozenset([QUEUE_LABEL])

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """The hostnames of an Indexed Job's pods, behind a headless Service of ours."""
        return Naming(pod="{job}-{group}-{index}", address="{pod}.{service}", own_service=True)

    def crds(self, plan: Plan) -> tuple[str, ...]:
        return ("appwrappers.workload.codeflare.dev", *admission_crds(plan))

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Too many sets of pods, and restarts of the whole job."""
        yield from gang_problems(plan)
        groups = sum(1 for role in plan.roles for _ in role.groups())
        if groups > MOST_POD_SETS:
            reason = f"make {groups} sets of pods, and an AppWrapper has at most {MOST_POD_SETS}"
            yield Problem("roles", None, reason, "make some of them one role")
        for role in plan.roles:
            if role.restarts_job:
                reason = "the value restarts the whole job, whichever pod has failed, and an AppWrapper cannot do that"
                fix = f"write on-failure, or {another_backend(JOB_RESTARTS)}"
                yield Problem(f"roles.{role.name}.restart", "all-when-evicted", reason, fix)

    def conventions(self, plan: Plan) -> PodConventions:
        return PodConventions(self.INDEX_LABEL, appended=frozenset([INDEX_VARIABLE]))

    def prerequisites(self, plan: Plan) -> list[Manifest]:
        return pod_group(plan)

    def job(self, plan: Plan) -> Manifest:
        components = [self._component(plan, role, group) for role in plan.roles for group in role.groups()]
        return job_manifest(
            plan,
            "AppWrapper",
            {"components": components},
            labels=queue_labels(plan),
            annotations={RETRIES: "0"},
        )

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        jobs = [component["template"]["spec"] for component in job_body(manifests)["spec"]["components"]]
        return [Template(job["parallelism"], job["parallelism"], job["template"]) for job in jobs]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        """Return the pods of the Jobs, called by their hostnames: Kubernetes puts a random end to each name."""
        owner = job_body(manifests)
        made = [
            self._pod(owner["metadata"], component["template"], index)
            for component in owner["spec"]["components"]
            for index in range(component["template"]["spec"]["completions"])
        ]
        return made, {}

    def _component(self, plan: Plan, role: RolePlan, group: Group) -> dict[str, Any]:
        template = pod_template(plan, role, group, self.conventions(plan))
        spec = {
            "parallelism": group.replicas,
            "completions": group.replicas,
            "completionMode": "Indexed",
            "backoffLimit": role.max_retry if role.restart == "on-failure" else 0,
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            "template": in_gang(plan, template, group.name, least_of_groups(plan)),
        }
        metadata = {"name": f"{plan.job}-{group.name}", "namespace": plan.namespace}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": without_empty(spec)}
        return {"template": job}

    def _pod(self, owner: dict[str, Any], job: dict[str, Any], index: int) -> dict[str, Any]:
        template = copy.deepcopy(job["spec"]["template"])
        name = f"{job['metadata']['name']}-{index}"
        template["spec"]["hostname"] = name
        field = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{self.INDEX_LABEL}']"}}
        for container in [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]:
            container.setdefault("env", []).append({"name": INDEX_VARIABLE, "valueFrom": field})
        labels = {
            OWNER_LABEL: owner["name"],
            "batch.kubernetes.io/job-name": job["metadata"]["name"],
            self.INDEX_LABEL: str(index),
        }
        return pod_from_template(name, owner["namespace"], template, labels)
