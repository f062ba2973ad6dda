"""Gang scheduling: Volcano's Queue and, for operators that do not do it, a PodGroup or the label that Kueue reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.support import done_by, follows, overwritten
from trainform.errors import Problem
from trainform.manifests.manifest import Component, Manifest, object_body, without_empty
from trainform.manifests.objects import experiment_labels
from trainform.manifests.pod_types import PodTemplate
from trainform.plan.model import Plan, QueuePlan

API_VERSION = "scheduling.volcano.sh/v1beta1"
KIND = "Queue"
CRDS = ("queues.scheduling.volcano.sh",)

# Annotations for Pulumi's provider. It must wait until a queue is open before it creates a job in it, and its usual
# limit of ten minutes is too long. The queue `default` belongs to Volcano, so its fields are taken over from their
# current manager.
UNTIL_OPEN = {
    "pulumi.com/waitFor": "jsonpath={.status.state}=Open",
    "pulumi.com/timeoutSeconds": str(defaults.QUEUE_OPEN_SECONDS),
}
# The webhook reads the parent queue from its own cache, which may be late.
LATE_PARENT = (("failed to get parent queue", "not found"),)
TAKE_OVER = {"pulumi.com/patchForce": "true"}


def queue_manifest(queue: QueuePlan, labels: dict[str, str]) -> Manifest:
    """Return the Queue. Volcano's scheduler makes the queue `default`, so for it only fields are set. Raises ValueError
    if the plan makes no queue."""
    request = queue.request
    if request is None:
        raise ValueError(f"the queue {queue.name} is not of this job")
    shared = queue.name == defaults.QUEUE
    amounts = dict(queue.amounts)
    guarantee = amounts.pop("guarantee", None)
    spec = {
        "weight": request.weight,
        "reclaimable": request.reclaimable,
        "parent": request.parent,
        "priority": request.priority if request.priority else None,
        **amounts,
        "guarantee": None if guarantee is None else {"resource": guarantee},
    }
    annotations, fields = TAKE_OVER if shared else UNTIL_OPEN, {"spec": without_empty(spec)}
    body = object_body(KIND, queue.name, None, labels, annotations, api_version=API_VERSION, **fields)
    return Manifest(f"queue-{queue.name}", body, patch=shared, component=Component.QUEUE, late_refusals=LATE_PARENT)


SCHEDULER = "volcano"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
TASK_ANNOTATION = "volcano.sh/task-spec"  # a pod's part of its gang, for `minTaskMember` of the PodGroup
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"  # Kueue's; the annotation is Volcano's
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"  # an annotation of pods, or else a label
PODGROUP_CRDS = ("podgroups.scheduling.volcano.sh",)
KUEUE_CRDS = ("localqueues.kueue.x-k8s.io",)


LOCAL_QUEUE = done_by(f"with Kueue a LocalQueue, in the label `{QUEUE_LABEL}`")
"""The field `queue` of jobs that Kueue admits."""

_CRDS = {defaults.NONE: (), defaults.VOLCANO: PODGROUP_CRDS, defaults.KUEUE: KUEUE_CRDS}


def admission_crds(plan: Plan) -> tuple[str, ...]:
    """Return the custom resource definitions that the environment's admission needs."""
    return _CRDS[plan.admission]


def gang_problems(plan: Plan) -> Iterator[Problem]:
    """Yield annotations that name another gang than the PodGroup of `pod_group`."""
    if plan.admission == defaults.VOLCANO:
        yield from overwritten(plan, "trainform", [GROUP_ANNOTATION, TASK_ANNOTATION])


_INSTEAD = "use an environment with Volcano's admission"
_TOPOLOGY = {
    defaults.NONE: f"remove it, or {_INSTEAD}",
    defaults.KUEUE: "remove it, or write Kueue's annotation `kueue.x-k8s.io/podset-required-topology` on the roles",
}
_WHOLE = {
    defaults.NONE: "the value lets a part of the pods start, and without admission each pod starts as soon as it fits",
    defaults.KUEUE: "the value lets a part of the pods start, and Kueue admits all pods of a job or none",
}


_UNSUPPORTED = {
    defaults.NONE: "a job of this backend always has a PodGroup of Volcano",
    defaults.VOLCANO: "Volcano makes no gang of the jobs of this backend",
    defaults.KUEUE: "Kueue has no integration for the jobs of this backend",
}


def admission_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with an admission that the backend does not support, with fields of Volcano if it does not admit
    the jobs of the environment, and with a label that names another queue of Kueue. That label in other environments is
    a finding of the rule TF-PLC-2."""
    if plan.admission not in BACKENDS[plan.backend].ADMISSIONS:
        able = ", ".join(name for name, other in BACKENDS.items() if plan.admission in other.ADMISSIONS)
        reason = f"the environment has `admission: {plan.admission}`, and {_UNSUPPORTED[plan.admission]}"
        yield Problem("backend", plan.backend, reason, f"use one of {able}")
    elif plan.admission != defaults.VOLCANO:
        yield from _fields_of_volcano(plan)


def _fields_of_volcano(plan: Plan) -> Iterator[Problem]:
    admits = f"and in this environment {defaults.ADMITS[plan.admission]}"
    if plan.admission == defaults.KUEUE:
        yield from follows(plan, "labels", QUEUE_LABEL, "`queue`")
        if plan.workload_priority is not None:
            yield from follows(plan, "labels", PRIORITY_LABEL, "`priority_class`")
    if plan.queue.request is not None:
        reason = f"the experiment declares a queue of Volcano, {admits}"
        yield Problem("queue", None, reason, "name a LocalQueue of the namespace")
    if plan.topology is not None:
        reason = f"the field is for Volcano, {admits}"
        yield Problem("network.topology", None, reason, _TOPOLOGY[plan.admission])
    yield from whole_gang_problems(plan, _WHOLE[plan.admission], _INSTEAD)


def whole_gang_problems(plan: Plan, reason: str, instead: str) -> Iterator[Problem]:
    """Yield problems with roles of which a part may start, where a gang always has all pods. instead: what to do if
    that is needed."""
    for role in plan.roles:
        if role.min_available == role.replicas:
            continue
        if role.ranked and plan.world.bounds is not None:
            if plan.admission == defaults.NONE:  # its rendezvous waits for `min_nodes`
                continue
            path, least = "launcher.torchrun.elastic.min_nodes", plan.world.bounds[0]
            yield Problem(path, least, reason, f"write {plan.world.nodes}, or {instead}")
            return
        yield Problem(f"roles.{role.name}.min_available", role.min_available, reason, f"remove it, or {instead}")


def pod_group(plan: Plan) -> list[Manifest]:
    """Return the PodGroup of the job: Volcano starts that many pods together or none. The list is empty if it does
    not admit jobs."""
    if plan.admission != defaults.VOLCANO:
        return []
    spec = {
        "minMember": plan.min_available,
        "minTaskMember": least_of_groups(plan),
        "queue": plan.queue.name,
        "priorityClassName": plan.priority_class,
        "networkTopology": plan.topology and topology(plan.topology),
    }
    labels = experiment_labels(plan)
    body = object_body("PodGroup", plan.job, plan.namespace, labels, api_version=API_VERSION, spec=without_empty(spec))
    return [Manifest("pod-group", body, revision=plan.revision)]


def least_of_groups(plan: Plan) -> dict[str, int]:
    """Return how many pods of each group the gang needs; empty where it needs all, or where there is one group.
    `minMember` alone counts all pods alike, so that pods outside of the gang would take the place of others in it, and
    a training would start without some of its pods."""
    groups = [group for role in plan.roles for group in role.groups() if group.replicas > 0]
    if len(groups) == 1 or all(group.min_available == group.replicas for group in groups):
        return {}
    return {group.name: group.min_available for group in groups if group.min_available > 0}


def topology(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return Volcano's `networkTopology`: how close the pods must be in the network."""
    fields = {"mode": "mode", "highest_tier": "highestTierAllowed", "highest_tier_name": "highestTierName"}
    return {fields[key]: value for key, value in limits.items()}


def queue_labels(plan: Plan) -> dict[str, str]:
    """Return labels of the job object with which Kueue suspends the job until its queue has room; empty if Kueue does
    not admit jobs."""
    if plan.admission != defaults.KUEUE:
        return {}
    priority = {} if plan.workload_priority is None else {PRIORITY_LABEL: plan.workload_priority}
    return {QUEUE_LABEL: plan.queue.name, **priority}


def in_gang(plan: Plan, template: PodTemplate, group: str, least: Mapping[str, int]) -> PodTemplate:
    """Return the pod template of the group as a member of the job's PodGroup; unchanged if Volcano does not admit
    jobs. least: `least_of_groups` of the plan."""
    if plan.admission != defaults.VOLCANO:
        return template
    metadata = template["metadata"]
    task = {TASK_ANNOTATION: group} if least else {}
    annotations = {**metadata.get("annotations", {}), GROUP_ANNOTATION: plan.job, **task}
    return {
        **template,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"schedulerName": SCHEDULER, **template["spec"]},
    }
