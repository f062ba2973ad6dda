"""The pods that the jobs of a preview need, and the nodes that admit them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, summed
from trainform.cluster.facts import LiveNode
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.objects import local_queue_of, metadata_of, own_names, places_pods, queue_of, templates_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
MOST_CONTEXTS = 256  # of which the pods and the room for them are kept, since several parts of a review ask for them
KEEPING_OUT = frozenset({"NoSchedule", "NoExecute"})


class Pods(Struct, frozen=True):
    """Pods of one role that are alike. gang: how many start together. every: with those that start when there is room.
    each: requests of one pod. alone: each takes a port of its node."""

    role: str
    gang: int
    every: int
    each: Amounts
    selector: Mapping[str, Any]
    tolerations: Sequence[Mapping[str, Any]]
    alone: bool

    def selects(self, node: LiveNode) -> bool:
        """True if the node has the labels that the pods select."""
        return all(node.labels.get(key) == value for key, value in self.selector.items())

    def tolerates(self, taint: Mapping[str, str]) -> bool:
        """True if the taint does not keep the pods out."""
        return taint.get("effect") not in KEEPING_OUT or any(_matches(each, taint) for each in self.tolerations)

    def admitted_by(self, node: LiveNode) -> bool:
        """True if the labels and taints of the node let the pods on it."""
        return self.selects(node) and all(map(self.tolerates, node.taints))

    def fit(self, free: Mapping[str, Any]) -> int:
        """How many of the pods fit into what is free."""
        fitting = [int(free.get(name, NOTHING) // amount) for name, amount in self.each.items() if amount]
        return max(0, min([*fitting, *([1] if self.alone else [])]))


class Need(Struct, frozen=True, dict=True):
    """The pods of one job. name: NAMESPACE/NAME of the job. queue: of Volcano, local_queue: of Kueue; "" for none.
    priority: that of the environment's class; None if it is unknown. rules: of the pods, which are not judged."""

    name: str
    queue: str
    local_queue: str
    pods: tuple[Pods, ...]
    priority: int | None = None
    rules: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """The namespace of the job object."""
        return self.name.partition("/")[0]

    @property
    def local_place(self) -> str:
        """NAMESPACE/NAME of the job's LocalQueue."""
        return f"{self.namespace}/{self.local_queue}"

    @functools.cached_property
    def gang(self) -> Amounts:
        """What the pods that start together request."""
        return summed({name: amount * pods.gang for name, amount in pods.each.items()} for pods in self.pods)

    @functools.cached_property
    def every(self) -> Amounts:
        """What all pods request."""
        return summed({name: amount * pods.every for name, amount in pods.each.items()} for pods in self.pods)


def _matches(toleration: Mapping[str, Any], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator") == "Exists":
        return key in (None, "", taint.get("key"))
    return key == taint.get("key") and str(toleration.get("value", "")) == taint.get("value", "")


@functools.lru_cache(maxsize=MOST_CONTEXTS)
def needs_of(context: Context) -> tuple[Need, ...] | None:
    """The pods of each job that gets new ones; None if those of a job are unknown."""
    needs = [_need(job, context) for job in context.jobs if places_pods(job)]
    known = tuple(need for need in needs if need is not None)
    return known if len(known) == len(needs) else None


def freed(context: Context) -> set[str]:
    """NAMESPACE/NAME of the jobs whose room is free for the new pods: those that are replaced, deleted or scaled."""
    found: set[str] = set()
    for job in context.jobs:
        is_deleted = job.job is not None and steps.fate(job.job) == "delete" and not steps.leaves(job.job)
        found |= own_names(job) if places_pods(job) or is_deleted else set()
    return found


def _need(job: JobReview, context: Context) -> Need | None:
    templates = templates_of(job, context.environment)
    if templates is None:
        return None
    metadata = metadata_of(None if job.job is None else job.job.new)
    default = "" if context.environment is None else context.environment.namespace.name
    classes = {} if context.environment is None else context.environment.priority_classes
    names = {str(template.spec.get("priorityClassName")) for template in templates}
    return Need(
        f"{metadata.get('namespace', default)}/{metadata.get('name', job.name)}",
        queue_of(job, after=True),
        local_queue_of(job, after=True),
        _alike(templates),
        max((classes[name].value for name in names & classes.keys()), default=None),
        tuple(dict.fromkeys(rule for template in templates for rule in _rules(template))),
    )


def _alike(templates: Iterable[Template]) -> tuple[Pods, ...]:
    """Pods of one shape together: a role may have a template for each replica."""
    found: dict[str, Pods] = {}
    for pods in map(_pods, templates):
        shape = repr(structs.replace(pods, gang=0, every=0))
        one = found.get(shape, structs.replace(pods, gang=0, every=0))
        found[shape] = structs.replace(pods, gang=one.gang + pods.gang, every=one.every + pods.every)
    return tuple(pods for pods in found.values() if pods.every)


def _pods(template: Template) -> Pods:
    return Pods(
        template.role,
        template.min_available,
        template.replicas,
        {name: template.pod_request(name) for name in sorted(template.resources())} | {POD_SLOTS: NOTHING + 1},
        mapping(template.spec.get("nodeSelector")),
        mappings(template.spec.get("tolerations")),
        alone=template.replicas > 1 and bool(template.node_ports()),
    )


def _rules(template: Template) -> Iterator[str]:
    """The rules of the pods besides selectors and tolerations, which capacity does not judge."""
    affinity = mapping(template.spec.get("affinity"))
    yield from (f"{rule} of {template.role}" for rule in AFFINITIES if mapping(affinity.get(rule)).get(REQUIRED))
    spread = mappings(template.spec.get("topologySpreadConstraints"))
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spread):
        yield f"topologySpreadConstraints of {template.role}"
