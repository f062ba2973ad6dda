"""What holds back a job that its operator does not gang-schedule by itself: a PodGroup of Volcano's, or the label that Kueue looks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.backends.decided import follows, overwritten
from trainform.backends.queues import API_VERSION
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, without_empty
from trainform.manifests.objects import experiment_labels
from trainform.plan.model import Plan

SCHEDULER = "volcano"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"  # Kueue's; the annotation is Volcano's
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
PODGROUP_CRDS = ("podgroups.scheduling.volcano.sh",)
KUEUE_CRDS = ("localqueues.kueue.x-k8s.io",)


def admission_crds(plan: Plan) -> tuple[str, ...]:
    """What must be in the cluster for the environment's admission."""
    return KUEUE_CRDS if plan.admission == defaults.KUEUE else PODGROUP_CRDS


def gang_problems(plan: Plan) -> Iterator[Problem]:
    """What Kueue has no word for, and what names another gang or queue than the plan."""
    if plan.admission != defaults.KUEUE:
        yield from overwritten(plan, "trainform", [GROUP_ANNOTATION])
        if QUEUE_LABEL in plan.labels:
            reason = "hands the job to Kueue, and the environment admits by Volcano"
            fix = "remove it, or use an environment with Kueue's admission"
            yield Problem(f"labels.{QUEUE_LABEL}", plan.labels[QUEUE_LABEL], reason, fix)
        return
    yield from follows(plan, "labels", QUEUE_LABEL, "`queue`")
    fix = "name a LocalQueue of the namespace"
    if plan.queue.request is not None:
        yield Problem("queue", None, "declares a queue of Volcano's, and the environment admits by Kueue", fix)
    if plan.topology is not None:
        fix = "remove it, or write Kueue's annotation `kueue.x-k8s.io/podset-required-topology` on the roles"
        yield Problem("network.topology", None, "is Volcano's, and the environment admits by Kueue", fix)
    for role in plan.roles:
        if role.min_available not in (0, role.replicas):
            fix = "remove it, or use an environment with Volcano's admission"
            reason = "asks for a part of the role, and Kueue admits a job as a whole"
            yield Problem(f"roles.{role.name}.min_available", role.min_available, reason, fix)


def pod_group(plan: Plan) -> list[Manifest]:
    """The gang: so many pods, or none. Kueue needs no such object."""
    if plan.admission == defaults.KUEUE:
        return []
    spec = {
        "minMember": plan.min_available,
        "queue": plan.queue.name,
        "priorityClassName": plan.priority_class,
        "networkTopology": topology(plan),
    }
    metadata = {"name": plan.job, "namespace": plan.namespace, "labels": experiment_labels(plan)}
    body = {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": metadata, "spec": without_empty(spec)}
    return [Manifest("pod-group", body, revision=plan.revision)]


def topology(plan: Plan) -> dict[str, Any] | None:
    """How close the pods must be, in Volcano's words."""
    if plan.topology is None:
        return None
    words = {"mode": "mode", "highest_tier": "highestTierAllowed", "highest_tier_name": "highestTierName"}
    return {words[key]: value for key, value in plan.topology.items()}


def queue_labels(plan: Plan) -> dict[str, str]:
    """On the job object: Kueue suspends it until the queue has room."""
    return {QUEUE_LABEL: plan.queue.name} if plan.admission == defaults.KUEUE else {}


def in_gang(plan: Plan, template: dict[str, Any]) -> dict[str, Any]:
    """The pod template as a member of the gang."""
    if plan.admission == defaults.KUEUE:
        return template
    metadata = template["metadata"]
    annotations = {**metadata.get("annotations", {}), GROUP_ANNOTATION: plan.job}
    return {
        **template,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"schedulerName": SCHEDULER, **template["spec"]},
    }
