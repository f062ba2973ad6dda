"""The pods that the jobs of a preview need, and the nodes that admit them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, summed
from trainform.cluster.facts import LiveNode
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.job_objects import local_queue_of, metadata_of, own_names, places_pods, queue_of, templates_of


class Pods(Struct, frozen=True):
    """Pods of one role that are alike."""

    role: str
    gang: int  # the number of pods that start together
    every: int  # with those that start when there is room
    each: Amounts  # requests of one pod
    limits: Amounts  # of one pod, under the names of a ResourceQuota
    selector: Mapping[str, Any]
    tolerations: Sequence[Mapping[str, Any]]
    alone: bool  # each pod takes a port of its node

    def selects(self, node: LiveNode) -> bool:
        """Return True if the node has the labels that the pods select."""
        return all(node.labels.get(key) == value for key, value in self.selector.items())

    def tolerates(self, taint: Mapping[str, str]) -> bool:
        """Return True if the taint does not keep the pods out."""
        keeps_out = taint.get("effect") in ("NoSchedule", "NoExecute")
        return not keeps_out or any(_matches(each, taint) for each in self.tolerations)

    def admitted_by(self, node: LiveNode) -> bool:
        """Return True if the labels and taints of the node let the pods on it."""
        return self.selects(node) and all(map(self.tolerates, node.taints))

    def fit(self, free: Mapping[str, Any]) -> int:
        """Return the number of these pods that fit into the free amounts."""
        fitting = [int(free.get(name, NOTHING) // amount) for name, amount in self.each.items() if amount]
        return max(0, min([*fitting, *([1] if self.alone else [])]))


class Need(Struct, frozen=True):
    """The pods of one job, NAMESPACE/NAME, with requests and limits of those that start together and of all."""

    name: str
    namespace: str
    pods: tuple[Pods, ...]
    gang: Amounts
    every: Amounts
    queue: str  # Volcano's; "" for none
    local_queue: str  # NAMESPACE/NAME of Kueue's; "" for none
    priority: int | None  # of the environment's priority class; None if it is unknown


def _matches(toleration: Mapping[str, Any], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator") == "Exists":
        return key in (None, "", taint.get("key"))
    return key == taint.get("key") and str(toleration.get("value", "")) == taint.get("value", "")


@functools.cache  # several parts of a review ask for it
def needs_of(context: Context) -> tuple[Need, ...] | None:
    """Return the pods of each job that gets new ones; None if those of a job are unknown."""
    needs = [need_of(job, context) for job in context.jobs if places_pods(job)]
    known = tuple(need for need in needs if need is not None)
    return known if len(known) == len(needs) else None


def freed(context: Context) -> set[str]:
    """Return NAMESPACE/NAME of the jobs whose room is free for the new pods: those that are replaced, deleted or
    scaled."""
    deleted = {step.urn for step in context.preview.steps if steps.action(step) == "delete" and not steps.leaves(step)}
    ending = (job for job in context.jobs if places_pods(job) or (job.job is not None and job.job.urn in deleted))
    return {name for job in ending for name in own_names(job)}


def need_of(job: JobReview, context: Context) -> Need | None:
    """Return the pods of one job; None if they are unknown."""
    templates, environment = templates_of(job, context.environment), context.environment
    if templates is None:
        return None
    metadata = metadata_of(None if job.job is None else job.job.new)
    namespace = metadata.get("namespace", "" if environment is None else environment.namespace.name)
    classes = {} if environment is None else environment.priority_classes
    names = {str(template.spec.get("priorityClassName")) for template in templates}
    pods, local_queue = _alike(templates), local_queue_of(job, after=True)
    return Need(
        name=f"{namespace}/{metadata.get('name', job.name)}",
        namespace=namespace,
        pods=pods,
        gang=summed(_times(each, each.gang) for each in pods),
        every=summed(_times(each, each.every) for each in pods),
        queue=queue_of(job, after=True),
        local_queue=f"{namespace}/{local_queue}" if local_queue else "",
        priority=max((classes[name].value for name in names & classes.keys()), default=None),
    )


def _times(pods: Pods, number: int) -> Amounts:
    return {name: amount * number for name, amount in (pods.each | pods.limits).items()}


def _alike(templates: Iterable[Template]) -> tuple[Pods, ...]:
    """Join pods of one shape: a role may have a template for each replica."""
    shapes: dict[str, Pods] = {}
    for pods in map(_pods, templates):
        shape = structs.replace(pods, gang=0, every=0)
        joined = shapes.get(repr(shape), shape)
        shapes[repr(shape)] = structs.replace(pods, gang=joined.gang + pods.gang, every=joined.every + pods.every)
    return tuple(pods for pods in shapes.values() if pods.every)


def _pods(template: Template) -> Pods:
    return Pods(
        template.role,
        template.min_available,
        template.replicas,
        {name: template.pod_request(name) for name in sorted(template.resources)} | {POD_SLOTS: NOTHING + 1},
        template.pod_limits(),
        mapping(template.spec.get("nodeSelector")),
        mappings(template.spec.get("tolerations")),
        alone=template.replicas > 1 and bool(template.node_ports()),
    )
