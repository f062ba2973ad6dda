"""Volcano: `batch.volcano.sh/v1alpha1` Job and `scheduling.volcano.sh/v1beta1` Queue.

Volcano's webhook compares an updated Job literally with the old one and accepts changes of replicas, minAvailable and
priority class only. So every default that the webhook would set at creation is set here (maxRetry, minAvailable,
schedulerName, dnsPolicy): an object without them could never be updated.

A job ends by the lifecycle policies of its tasks, or by the number of pods that have succeeded. Source: Volcano 1.14.1,
pkg/controllers/job (`applyPolicies`, state/running.go) and pkg/controllers/cache (`TaskCompleted`). The controller
checks the policies of the pod's task before those of the job, and takes the first that matches; `*` matches every
event. TaskCompleted is raised when all pods of one task have succeeded. If replicas have their own templates (`ports:
per-replica`), each is a separate task, and no policy covers several tasks: then `minSuccess` ends the job by the number
of pods that have succeeded, whichever they are. So no pod of another role may succeed before them: such pods keep
running (`RolePlan.stays`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import structs

from trainform.backends.admission import GROUP_ANNOTATION, SCHEDULER, topology
from trainform.backends.backend import DEADLINE, Backend, Finder, PodRestarts, Pods, PodsAt, value_at
from trainform.backends.notes import NOTES
from trainform.backends.outcome import ToOutcome, ends_with_role, failed_of_pods
from trainform.backends.refusals import RESTART_RULES
from trainform.backends.support import NO_RUNTIME, Fields, done_by, pods_stay
from trainform.backends.volcano.controller import (
    controller_objects,
    host_problems,
    host_variables,
    hosts_of_separate_tasks,
)
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, job_body, mappings, without_empty
from trainform.manifests.objects import job_manifest
from trainform.manifests.pods import pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Group, Plan, RolePlan
from trainform.plan.operator import Naming, Operator
from trainform.plan.world import ANY_EVENT, COMPLETED, ON_FAILURE, TASK_FAILED, action_upon
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import seconds
from trainform.spec.roles import Policy

_END_ACTIONS = ("CompleteJob", "TerminateJob", "AbortJob")
_NO_ACTION = "ResumeJob"  # of a job that runs
_EACH = (
    "the policy would act when a single replica has succeeded: with `ports: per-replica` each replica of a ranked "
    "role is a separate task"
)
_NEVER = "the policy would never act: with `ports: per-replica` the pods of this role keep running until the job ends"
_NO_SHELL = (
    "the image may have no /bin/sh: with `ports: per-replica` a script starts the role's pods and keeps them running "
    "until the job ends, since Volcano counts all pods that succeed"
)


def _rendered_policies(policies: Iterable[Policy]) -> list[dict[str, Any]]:
    """Return lifecycle policies as fields of Volcano's API."""
    return [
        without_empty(
            {
                "action": policy.action,
                "event": policy.event,
                "exitCode": policy.exit_code,
                "timeout": None if policy.timeout is None else f"{seconds(policy.timeout)}s",
            }
        )
        for policy in policies
    ]


def _ending_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems in jobs with a task for each replica: policies for the end of a task, and images that may have no
    shell for trainform's script."""
    shells = {role.image for role in plan.roles if role.scripted}
    for role in plan.roles:
        path = f"roles.{role.name}"
        if role.stays:
            yield from _completion_policies(f"{path}.policies", role.policies, _NEVER)
        elif role.per_replica and role.replicas > 1:
            policies = [None if _is_min_success(role, policy) else policy for policy in role.policies]
            yield from _completion_policies(f"{path}.policies", policies, _EACH)
        if role.stays and not role.command:
            reason = "the role has no command, and a script keeps its pods running with `ports: per-replica`"
            yield Problem(f"{path}.args", None, reason, "write `command`, or `ports: shared`")
        elif role.stays and role.image not in shells:
            fix = (
                "remove it, let one pod end the job (a first role of one replica, or TensorFlow's chief), or write "
                "`ports: shared`"
            )
            yield Problem(f"{path}.image", role.image, _NO_SHELL, fix)
    if any(role.per_replica and role.replicas > 1 for role in plan.roles):
        yield from _completion_policies("policies", plan.policies, _EACH)


def is_unheeded(plan: Plan, role: RolePlan, default: Policy) -> bool:
    """Return True if no policy acts on the event of this default policy in pods of the role."""
    return role.replicas > 0 and _action(plan, role, default) in (None, _NO_ACTION)


def _action(plan: Plan, role: RolePlan, default: Policy) -> str | None:
    return None if default.event is None else action_upon((*role.policies, *plan.policies), default.event)


def _is_min_success(role: RolePlan, policy: Policy) -> bool:
    """Return True if `minSuccess` replaces the policy."""
    return role.counted and policy == COMPLETED


def _completion_policies(path: str, policies: Sequence[Policy | None], reason: str) -> Iterator[Problem]:
    for index, policy in enumerate(policies):
        if policy is not None and policy.event in (COMPLETED.event, ANY_EVENT):
            fix = "remove it, name other events, or write `ports: shared`"
            yield Problem(f"{path}[{index}].event", policy.event, reason, fix)


_TASKS = PodsAt("spec.tasks.*", least="minAvailable", scheduler="spec.schedulerName")


def _with_volumes(body: dict[str, Any]) -> Iterator[Pods]:
    """Yield the pods of the tasks, with the volumes of the Job, which each of them has."""
    names = [volume.get("volumeClaimName") for volume in mappings(value_at(body, "spec.volumes"))]
    of_job = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    for pods in _TASKS(body):
        template = pods.template
        spec = {**template.spec, "volumes": [*template.volumes(), *of_job]} if of_job else template.spec
        yield structs.replace(pods, template=structs.replace(template, body={**template.body, "spec": spec}))


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

API_VERSION = "batch.volcano.sh/v1alpha1"
CONTROLLER = "volcano-system/volcano-controllers"


class Volcano(Backend):
    """Volcano: a Job of tasks, which its controller and scheduler run as a gang."""

    OPERATORS = (Operator("Volcano (its Helm chart)", "volcano.sh", API_VERSION, CONTROLLER, ("jobs",)),)
    RESTARTS = PodRestarts("Volcano restarts pods by a lifecycle policy for each exit code, of at most 16", most=16)
    PODS: ClassVar[Mapping[str, tuple[Finder, ...]]] = {"batch.volcano.sh/Job": (_with_volumes,)}
    # Terminated: by the policy `TerminateJob`, which a pod that fails raises if nothing restarts it. Aborted: by a
    # person, as `vcctl job suspend` does. The status of a complete job has no counts of pods (1.14.1, `killPods`), so
    # its pods are counted.
    OUTCOME = ToOutcome(
        {"Completed": "succeeded", "Failed": "failed", "Terminated": "failed", "Aborted": "stopped"},
        failed_pods=failed_of_pods,
    )

    MAKES = f"Job (`{API_VERSION}`)"
    ENDS = (
        "the policy `TaskCompleted: CompleteJob` of the task; with `ports: per-replica` by `minSuccess`, which counts "
        "every pod: pods of other roles that succeed stay up until then"
    )
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
        **pods_stay("Volcano"),
        "restart.exit_codes": done_by("a policy `RestartPod` for each code, which counts for the job's `max_retry`"),
        "max_retry": done_by(
            "`maxRetry`: restarts of the whole job and, with `on-failure` and `N times`, of an evicted pod"
        ),
        "max_run_time": done_by(f"`{DEADLINE}` of each pod; a pod or job that starts again has the whole time anew"),
        "network.ports": done_by("a task for each replica; policies for `TaskCompleted` and `*` are refused"),
    }

    LACKS = frozenset([RESTART_RULES])

    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """Return names by which pods are addressed below trainform's headless Service."""
        return Naming(pod="{job}-{group}-{index}", address="{pod}.{service}", own_service=True, ends_by_number=True)

    def problems(self, plan: Plan) -> Iterator[Problem]:
        """Yield problems with policies that never act or act too early, and with too long lists of hosts."""
        yield from host_problems(plan)
        yield from _ending_problems(plan)

    def notes(self, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[str]:
        """Yield notes on roles of the training whose containers are started again without limit, and on the longest
        time of pods that are started again."""
        for role in plan.roles:
            if role.launched and role.restart == ON_FAILURE and is_unheeded(plan, role, TASK_FAILED):
                yield NOTES["restarts"].format(role=role.name, number=role.max_retry)
        policies = (policy for role in plan.roles for policy in (*role.policies, *plan.policies))
        if plan.max_run_seconds is not None and any(policy.action.startswith("Restart") for policy in policies):
            yield NOTES["run-time"]

    def suspend_fix(self, plan: Plan) -> str:
        """Return the command: Volcano suspends a job by a Command object."""
        use = f"use `vcctl job suspend -N JOB -n {plan.namespace}` instead of this key, and later `vcctl job resume`"
        return f"{use}; `trainform status` shows the JOB"  # the plan's is of the files, and may not be deployed

    def crds(self, plan: Plan) -> tuple[str, ...]:
        return ("jobs.batch.volcano.sh",)

    def job(self, plan: Plan) -> Manifest:
        """Return the Job, with a task for each group of pods. Volcano makes the PodGroup."""
        conventions = self.conventions(plan)
        spec = {
            "schedulerName": SCHEDULER,
            "queue": plan.queue.name,
            "minAvailable": plan.min_available,
            "minSuccess": next((role.replicas for role in plan.roles if role.counted), None),
            "maxRetry": plan.max_retry,
            "priorityClassName": plan.priority_class,
            "ttlSecondsAfterFinished": plan.ttl_seconds,
            "networkTopology": plan.topology and topology(plan.topology),
            "plugins": PLUGINS,
            "policies": _rendered_policies(plan.policies),
            "tasks": [_task(plan, role, group, conventions) for role in plan.roles for group in role.groups()],
        }
        return job_manifest(plan, "Job", without_empty(spec), late_refusals=_LATE_REFUSALS)

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        spec = job_body(manifests)["spec"]
        return [
            Template(task["replicas"], task["minAvailable"], task["template"], scheduler=spec.get("schedulerName"))
            for task in spec["tasks"]
        ]

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        return controller_objects(job_body(manifests))

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        ending = (role for role in plan.roles if role.replicas and _action(plan, role, COMPLETED) in _END_ACTIONS)
        return tuple(found for role in ending for found in ends_with_role(plan, role.name))

    def conventions(self, plan: Plan) -> PodConventions:
        """Return the index by Volcano's label, and VC_TASK_INDEX as its `env` plugin would set it. The svc plugin
        appends its lists of hosts to the `env` of every container, where the last value of a variable wins."""
        groups = [group for role in plan.roles for group in role.groups()]
        appended = frozenset(variable for group in groups for variable in host_variables(group.name))
        expected = {name: {"configMapKeyRef": {"name": plan.launch_files, "key": name}} for name in self.files(plan)}
        return PodConventions(self.INDEX_LABEL, "VC_TASK_INDEX", appended, expected)

    def files(self, plan: Plan) -> dict[str, str]:
        return hosts_of_separate_tasks(plan)


def _task(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> dict[str, Any]:
    """Return the task of a group of pods, without the policy that `minSuccess` replaces."""
    return without_empty(
        {
            "name": group.name,
            "replicas": group.replicas,
            "minAvailable": group.min_available,
            "maxRetry": role.max_retry,
            "policies": _rendered_policies(policy for policy in role.policies if not _is_min_success(role, policy)),
            "template": pod_template(plan, role, group, conventions),
        }
    )
