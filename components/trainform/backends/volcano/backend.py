"""Volcano: `batch.volcano.sh/v1alpha1` Job and `scheduling.volcano.sh/v1beta1` Queue.

Volcano's webhook compares an updated Job literally with the old one and accepts changes of replicas, minAvailable and
priority class only. So every default that the webhook would set at creation is set here (maxRetry, minAvailable,
schedulerName, dnsPolicy): an object without them could never be updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform.backends.backend import Backend
from trainform.backends.gangs import GROUP_ANNOTATION, SCHEDULER, topology
from trainform.backends.notes import NOTES
from trainform.backends.paths import Pods, PodsAt, value_at
from trainform.backends.support import NO_RUNTIME, Fields, done_by
from trainform.backends.volcano.controller import (
    controller_objects,
    host_problems,
    host_variables,
    hosts_of_separate_tasks,
)
from trainform.backends.volcano.ends import (
    ENDS,
    OUTCOME,
    ending_problems,
    min_success,
    rendered_policies,
    restarts_endlessly,
    task_policies,
)
from trainform.backends.volcano.ends import endings as job_endings
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import job_manifest
from trainform.manifests.pods import pod_template
from trainform.manifests.shapes import mappings
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Group, Naming, Plan, RolePlan
from trainform.spec.experiment import Experiment

_TASKS = PodsAt("spec.tasks.*", least="minAvailable", scheduler="spec.schedulerName")


def _with_volumes(body: dict[str, Any]) -> Iterator[Pods]:
    """The pods of the tasks, with the volumes of the Job, which each of them has."""
    names = [volume.get("volumeClaimName") for volume in mappings(value_at(body, "spec.volumes"))]
    of_job = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    for pods in _TASKS(body):
        template = pods.template
        spec = {**template.spec, "volumes": [*template.volumes(), *of_job]} if of_job else template.spec
        yield structs.replace(pods, template=structs.replace(template, body={**template.body, "spec": spec}))


PODS = {"batch.volcano.sh/Job": (_with_volumes,)}


# Only Volcano's plugin svc is used, for the pods' hostnames, without which they have no names in DNS; the subdomain is
# trainform's own Service.
# The plugin's NetworkPolicy is disabled, since it would allow traffic of the job's own pods only.
PLUGINS = {"svc": ["--disable-network-policy=true", "--publish-not-ready-addresses=true"]}

# Labels and annotations that the controller overwrites on every pod.
OWN_KEYS = frozenset(
    [
        *(f"volcano.sh/{name}" for name in ("task-index", "task-spec", "job-name", "job-namespace", "job-version")),
        *(f"volcano.sh/{name}" for name in ("job-retry-count", "queue-name", "template-uid")),
        GROUP_ANNOTATION,
    ]
)

# The webhook reads the job's queue from its own cache, which may be late.
_LATE_REFUSALS = (("unable to find job queue",), ("can only submit job to queue with state `Open`",))


class Volcano(Backend):
    """Volcano: a Job of tasks, which its controller and scheduler run as a gang."""

    PROJECT = "Volcano (its Helm chart)"
    DOMAIN = "volcano.sh"
    API_VERSION = "batch.volcano.sh/v1alpha1"
    PLURALS = ("jobs",)
    PODS = PODS
    OUTCOME = OUTCOME

    MAKES = f"Job (`{API_VERSION}`)"
    ENDS = ENDS
    ADDS = (
        "`VC_TASK_INDEX`; for each role, or with `ports: per-replica` for each `<role>_<index>`: `VC_<ROLE>_HOSTS`, "
        "`VC_<ROLE>_NUM`, the file `/etc/volcano/<role>.host`"
    )

    INDEX_LABEL = "volcano.sh/task-index"
    JOB_LABEL = "volcano.sh/job-name"
    POD_KEYS = OWN_KEYS
    IN_PLACE = ("spec.minAvailable", "spec.priorityClassName", "spec.tasks.*.replicas", "spec.tasks.*.minAvailable")
    FIELDS: ClassVar[Fields] = {
        **NO_RUNTIME,
        "max_retry": done_by(
            "`maxRetry`: restarts of the whole job and, with `on-failure` and `N times`, of an evicted pod"
        ),
        "network.ports": done_by("a task for each replica; policies for `TaskCompleted` and `*` are refused"),
    }

    def naming(self, experiment: Experiment) -> Naming:
        """Pods are addressed by their own names, below trainform's headless Service."""
        return Naming(pod="{job}-{group}-{index}", address="{pod}.{service}", own_service=True, ends_by_number=True)

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Problems with policies that never act or act too early, and with too long lists of hosts."""
        yield from host_problems(plan)
        yield from ending_problems(plan)

    def notes(self, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[str]:
        """Notes on roles of the training whose containers are started again without limit."""
        for role in plan.roles:
            if role.launched and restarts_endlessly(plan, role):
                yield NOTES["restarts"].format(role=role.name, number=role.max_retry)

    def crds(self, plan: Plan) -> tuple[str, ...]:
        return ("jobs.batch.volcano.sh",)

    def job(self, plan: Plan) -> Manifest:
        """The Job, with a task for each group of pods. Volcano makes the PodGroup."""
        conventions = self.conventions(plan)
        spec = {
            "schedulerName": SCHEDULER,
            "queue": plan.queue.name,
            "minAvailable": plan.min_available,
            "minSuccess": min_success(plan),
            "maxRetry": plan.max_retry,
            "priorityClassName": plan.priority_class,
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            "networkTopology": topology(plan),
            "plugins": PLUGINS,
            "policies": rendered_policies(plan.policies),
            "tasks": [task(plan, role, group, conventions) for role in plan.roles for group in role.groups()],
        }
        return job_manifest(plan, self.API_VERSION, "Job", without_empty(spec), late_refusals=_LATE_REFUSALS)

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        spec = job_body(manifests)["spec"]
        return [
            Template(task["replicas"], task["minAvailable"], task["template"], scheduler=spec.get("schedulerName"))
            for task in spec["tasks"]
        ]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        return controller_objects(job_body(manifests))

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        return job_endings(plan)

    def conventions(self, plan: Plan) -> PodConventions:
        """The index by Volcano's label, and VC_TASK_INDEX as its `env` plugin would set it. The svc plugin appends its
        lists of hosts to the `env` of every container, where the last value of a variable wins."""
        groups = [group for role in plan.roles for group in role.groups()]
        appended = frozenset(variable for group in groups for variable in host_variables(group.name))
        expected = {name: {"configMapKeyRef": {"name": plan.launch_files, "key": name}} for name in self.files(plan)}
        return PodConventions(self.INDEX_LABEL, "VC_TASK_INDEX", appended, expected)

    def files(self, plan: Plan) -> dict[str, str]:
        return hosts_of_separate_tasks(plan)


def task(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> dict[str, Any]:
    """The task of a group of pods."""
    return without_empty(
        {
            "name": group.name,
            "replicas": group.replicas,
            "minAvailable": group.min_available,
            "maxRetry": role.max_retry,
            "policies": task_policies(role),
            "template": pod_template(plan, role, group, conventions),
        }
    )
