"""Volcano: `batch.volcano.sh/v1alpha1` Job and `scheduling.volcano.sh/v1beta1` Queue.

Volcano's webhook compares an updated Job literally with the old one and accepts another number of replicas, minAvailable and
priority class only. So every default that it would fill in at creation is said here (maxRetry, minAvailable, schedulerName,
dnsPolicy): an object that leaves one out could never be updated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainform.backends.decided import changes, labels_of, overwritten
from trainform.backends.gangs import GROUP_ANNOTATION, SCHEDULER, topology
from trainform.backends.runtimes import OF_TRAINER
from trainform.backends.support import Fields, done_by
from trainform.backends.volcano_ends import (
    ENDS as ENDINGS,
)
from trainform.backends.volcano_ends import (
    POLICY,
    ending_problems,
    min_success,
    rendered_policies,
    task_policies,
)
from trainform.backends.volcano_ends import endings as job_endings
from trainform.backends.volcano_pods import HOSTS_MOUNT, controller_objects, host_variables
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest, job_body, without_empty
from trainform.manifests.objects import job_metadata
from trainform.manifests.pods import pod_template
from trainform.manifests.shape import METADATA, POD_TEMPLATE
from trainform.plan.model import Ending, Group, Plan, RolePlan
from trainform.policy.templates import Template
from trainform.spec.roles import Policy

API_VERSION = "batch.volcano.sh/v1alpha1"
KIND = "Job"
INDEX_LABEL = "volcano.sh/task-index"
ADDS = (
    "`VC_<ROLE>_HOSTS` (comma between them), `VC_<ROLE>_NUM` and `/etc/volcano/<role>.host` (a line each), with `-` as `_`; where replicas have "
    "templates of their own (`ports: per-replica`), for each `<role>_<index>`. `VC_TASK_INDEX` is rendered, and for roles with such replicas the "
    "variables of the whole role too, but no file"
)
MAKES = "Job (`batch.volcano.sh/v1alpha1`)"
ENDS = ENDINGS
ADMISSIONS = (defaults.VOLCANO,)
IN_PLACE = ("spec.minAvailable", "spec.priorityClassName", "spec.tasks.*.replicas", "spec.tasks.*.minAvailable")
FIELDS: Fields = {
    "runtime": OF_TRAINER,
    "network.ports": done_by(
        "a task for each replica; policies for `TaskCompleted` and `*`, which would act upon the end of a single one, are refused"
    ),
}

# Of Volcano's plugins only svc stays on, for the pods' hostnames (without it there are no names in DNS); our own Service is
# their subdomain. Its NetworkPolicy would shut out everything but the job itself.
PLUGINS = {"svc": ["--disable-network-policy=true", "--publish-not-ready-addresses=true"]}

SHAPE = {
    "metadata!": METADATA,
    "spec!": {
        "queue!": str,
        "minAvailable!": int,
        "minSuccess": int,
        "policies": [POLICY],
        "tasks!": [
            {"name!": str, "replicas!": int, "minAvailable!": int, "policies": [POLICY], "template!": POD_TEMPLATE}
        ],
    },
}

# Labels and annotations that the controller writes on every pod, over what stands there.
OWN_KEYS = frozenset(
    [
        *(f"volcano.sh/{name}" for name in ("task-index", "task-spec", "job-name", "job-namespace", "job-version")),
        *(f"volcano.sh/{name}" for name in ("job-retry-count", "queue-name", "template-uid")),
        GROUP_ANNOTATION,
    ]
)
_DECIDED = (
    "spec.queue",
    "spec.minAvailable",
    "spec.tasks.*.replicas",
    "spec.tasks.*.minAvailable",
    *labels_of("spec.tasks.*.template"),
)


def problems(plan: Plan) -> Iterator[Problem]:
    """Lifecycle policies that Volcano's webhook would deny (one event or exit code twice, or `*` beside others), and what its
    controller would overwrite without a word."""
    yield from _policy_problems("policies", plan.policies)
    for role in plan.roles:
        yield from _policy_problems(f"roles.{role.name}.policies", role.policies)
        yield from _mounted_over(role)
    yield from ending_problems(plan)
    yield from overwritten(plan, "Volcano", OWN_KEYS)


def crds(plan: Plan) -> tuple[str, ...]:
    """The Job."""
    return ("jobs.batch.volcano.sh",)


def shapes(plan: Plan) -> dict[str, Any]:
    """The Job's."""
    return {"job": SHAPE}


def further(plan: Plan) -> list[Manifest]:
    """Nothing: Volcano makes the PodGroup."""
    return []


def job(plan: Plan) -> Manifest:
    """The Job: one task per role."""
    conventions = operator(plan)
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
        "tasks": [_task(plan, role, group, conventions) for role in plan.roles for group in role.groups()],
    }
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": job_metadata(plan), "spec": without_empty(spec)}
    return Manifest("job", body, revision=plan.revision)


def templates(plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
    """Of each task."""
    return [
        Template(task["replicas"], task["minAvailable"], task["template"])
        for task in job_body(manifests)["spec"]["tasks"]
    ]


def pods(plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """What the controller would make of the rendered Job."""
    return controller_objects(job_body(manifests))


def endings(plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
    """By the policies of the rendered Job, and its `minSuccess`."""
    return job_endings(job_body(manifests))


def replanned(key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Queue and numbers of pods."""
    return changes(_DECIDED, rendered, patched)


def operator(plan: Plan) -> Operator:
    """The index by Volcano's label, and VC_TASK_INDEX as its `env` plugin would give it. The svc plugin appends its lists of hosts to every
    container, where the last value of a variable wins."""
    groups = [group for role in plan.roles for group in role.groups()]
    appended = frozenset(variable for group in groups for variable in host_variables(group.name))
    expected = {name: {"configMapKeyRef": {"name": plan.launch_files, "key": name}} for name in files(plan)}
    return Operator(INDEX_LABEL, "VC_TASK_INDEX", appended, expected)


def files(plan: Plan) -> dict[str, str]:
    """Hosts and number of roles whose replicas are tasks of their own: the plugin knows tasks alone. In a ConfigMap, since in every
    template they would grow with the square of the replicas."""
    made: dict[str, str] = {}
    for role in plan.roles:
        if role.per_replica:
            hosts = [pod.address for pod in plan.pods_of(role)]
            made |= dict(zip(host_variables(role.name), (",".join(hosts), str(len(hosts))), strict=True))
    return made


def _task(plan: Plan, role: RolePlan, group: Group, conventions: Operator) -> dict[str, Any]:
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


def _mounted_over(role: RolePlan) -> Iterator[Problem]:
    for mount in role.mounts:
        if mount.path.rstrip("/") == HOSTS_MOUNT:
            yield Problem(
                f"storage.{mount.volume}.mount",
                mount.path,
                "is where Volcano mounts its own files",
                "choose another path",
            )


def _policy_problems(path: str, policies: tuple[Policy, ...]) -> Iterator[Problem]:
    events = [policy.event for policy in policies if policy.event is not None]
    if "*" in events and len(set(events)) > 1:
        yield Problem(
            path, "*", "stands beside other events, which Volcano refuses", "keep `*` alone, or name each event"
        )
    seen: set[str | int] = set()
    for index, policy in enumerate(policies):
        if policy.event is not None and policy.event in seen:
            yield Problem(f"{path}[{index}].event", policy.event, "has a policy already", "keep one policy per event")
        if policy.exit_code is not None and policy.exit_code in seen:
            yield Problem(
                f"{path}[{index}].exit_code", policy.exit_code, "has a policy already", "keep one policy per exit code"
            )
        seen.update(trigger for trigger in (policy.event, policy.exit_code) if trigger is not None)
