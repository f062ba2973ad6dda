"""Findings about data: claims that are deleted, replaced, shrunk or no longer kept."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec import structs

from trainform.backends.workloads import value_at
from trainform.manifests.shapes import quantity
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.effects import AFTER_KEEP, SIZE, object_causes, refused
from trainform.review.fate import fate
from trainform.review.kinds import Kind
from trainform.review.model import Category, Change, Finding, Place
from trainform.review.platform import platform_causes
from trainform.review.preview import State, Step
from trainform.review.stand_ins import MASKED, UNKNOWN

DELETED = Kind(
    "TR-DATA-1",
    Category.data,
    "high",
    "A claim is deleted.",
    "Its data are deleted with it, unless the storage class keeps volumes whose claims are gone.",
    "Set `keep: true` on the volume and run `pulumi up` before it is removed, or copy the data first.",
)
REPLACED = Kind(
    "TR-DATA-2",
    Category.data,
    "high",
    "A claim is replaced by an empty one.",
    "A claim cannot be changed in this field: the old one is deleted with its data, and the new one is empty.",
    "Keep the field as it is, or make a new volume beside the old one and copy the data.",
)
SHRUNK = Kind(
    "TR-DATA-3",
    Category.data,
    "medium",
    "A claim is made smaller, which the API server refuses.",
    "Kubernetes lets claims grow and never shrink: `pulumi up` will fail here, after it has changed what comes before.",
    "Write at least the size that the claim has, or make a new volume and copy the data.",
)
NOT_KEPT = Kind(
    "TR-DATA-4",
    Category.data,
    "high",
    "A claim is no longer kept.",
    "Nothing happens to the data now, but the next `pulumi destroy`, or removing the volume, deletes them.",
    "Leave `keep: true` on the volume while anybody needs the data.",
)
NAMESPACE_GONE = Kind(
    "TR-DATA-5",
    Category.data,
    "high",
    "A namespace is deleted or replaced.",
    "Everything in it is deleted with it: every claim with its data, and every job, also those of other stacks.",
    "Keep the namespace. One that trainform has created is kept after a `pulumi up` without this change; set "
    "`retain_on_delete` on any other.",
)
RENAMED = Kind(
    "TR-DATA-6",
    Category.data,
    "high",
    "An object is renamed in the program, and is gone afterwards.",
    "For the engine they are two resources, in the cluster they are one object: it is made first, which finds it "
    "there, and deleted then.",
    "Give the resource its former name as an alias (`aliases` in the options of the resource).",
)
WITH_NAMESPACE = "The old claim is kept, but its namespace is deleted with everything in it; the new claim is empty."
KEPT = structs.replace(
    REPLACED.weighing("medium"),
    why="A claim cannot be changed in this field: the new one is empty, and the old one stays in the cluster with "
    "its data, since it is kept.",
    fix="Copy the data from the old claim if the new one shall have them.",
)
NOT_PROTECTED = structs.replace(
    NOT_KEPT,
    why="Nothing happens to the data now, but the engine no longer refuses to delete the claim: a later `pulumi "
    "destroy`, or removing it, may.",
    fix="Leave `protect` on the claim while anybody needs the data, or set `retain_on_delete`.",
)
PROTECTED_ALONE = structs.replace(
    NOT_KEPT.weighing("low"),
    why="The claim is protected, so that the engine refuses to delete it; as soon as it is no longer protected, "
    "`pulumi destroy` deletes the data.",
)
SAME_NAME = structs.replace(
    REPLACED.weighing("medium"),
    why="A kept claim is not deleted when it is replaced, and the new one has its name: one name cannot be both, so "
    "no empty claim is made.",
    fix="Keep the field as it is, or make a new volume with a name of its own beside the old one and copy the data.",
)
KINDS = (DELETED, REPLACED, SHRUNK, NOT_KEPT, NAMESPACE_GONE, RENAMED)


def find(context: Context) -> Iterator[Finding]:
    """The findings about data: the claims of each job, then all others, by name."""
    lost = {steps.name_before(step): step for step in _namespaces_gone(context)}
    for job in context.jobs:
        happens = fate(context, job)
        for step in steps.of_kind(job.steps, steps.CLAIM):
            yield from _of_claim(step, object_causes(step, happens), lost)
    for step in steps.of_kind(steps.others(context), steps.CLAIM):
        yield from _of_claim(step, platform_causes(step, context), lost)
    for name, step in lost.items():
        yield _namespace(name, step, context)
    yield from _renamed(context.preview.steps)


def _renamed(given: Sequence[Step]) -> Iterator[Finding]:
    """Objects that one resource makes and another one loses. Kept ones stay, and so does what a patch gives back."""
    made = {_object(step, step.new): step for step in given if step.is_object and steps.fate(step) == "create"}
    made.pop((), None)
    for step in given:
        after = made.get(_object(step, step.old)) if steps.fate(step) == "delete" else None
        if after is None or after.urn == step.urn or steps.leaves(step) or steps.gives_up(step):
            continue
        name, kind = steps.name_before(step), steps.kind(step)
        title = (
            f"The {kind} {name} is renamed in the program from {step.name} to {after.name}; both are one object, "
            "which is gone afterwards."
        )
        yield RENAMED.finding(name, field=kind, before=step.name, after=after.name, title=title)


def _object(step: Step, state: State | None) -> tuple[str, ...]:
    """What the object is in its cluster; empty if its name is not known."""
    namespace, name = (value_at(steps.body(step, state), path) for path in steps.IDENTITY)
    if state is None or not isinstance(name, str) or name in (UNKNOWN, MASKED):
        return ()
    return (step.type, state.provider, str(namespace), name)


def _namespaces_gone(context: Context) -> Iterator[Step]:
    for step in steps.of_kind(context.preview.steps, steps.NAMESPACE):
        if steps.fate(step) in ("delete", "replace") and not (step.old is not None and step.old.keep):
            yield step


def _namespace(name: str, step: Step, context: Context) -> Finding:
    verb = {"delete": "deleted", "replace": "replaced"}[steps.fate(step)]
    jobs = sorted(_jobs_in(name, context))
    living = f", also what is there now: {', '.join(jobs)}" if jobs else ""
    causes = platform_causes(step, context)
    return NAMESPACE_GONE.finding(
        name,
        title=f"The namespace {name} is {verb}, and everything in it is deleted{living}.",
        place=causes[0].place if causes else None,
    )


def _jobs_in(namespace: str, context: Context) -> set[str]:
    """The jobs of the namespace that hold something of a queue now, as far as the cluster was read."""
    queues = () if context.live is None or context.live.queues is None else context.live.queues
    holders = {holder.partition("/") for queue in queues for holder in queue.holders}
    return {name for of, _, name in holders if of == namespace}


def _of_claim(step: Step, causes: Sequence[Change], lost: Container[str]) -> Iterator[Finding]:
    """lost: the namespaces that go with everything in them."""
    happens, name = steps.fate(step), steps.name_before(step)
    place = None if not causes else causes[0].place
    if happens == "delete" and not steps.leaves(step):
        yield DELETED.finding(name, title=f"The claim {name} is deleted, and its data unless its volume is retained.")
    if happens == "replace":
        yield _replaced(step, name, place, lost)
    if steps.no_longer_kept(step):
        protected = step.new is not None and step.new.protect
        kind = PROTECTED_ALONE if protected else NOT_KEPT
        title = f"The claim {name} is no longer kept: {AFTER_KEEP[protected]}."
        yield kind.finding(name, field="keep", before=True, after=False, title=title, place=place)
    if steps.no_longer_protected(step):
        title = f"The claim {name} is no longer protected: a later `pulumi destroy` may delete it."
        yield NOT_PROTECTED.finding(name, field="protect", before=True, after=False, title=title, place=place)
    if happens == "update":
        yield from _shrunk(step, name, place)


def _replaced(step: Step, name: str, place: Place | None, lost: Container[str]) -> Finding:
    keys = ", ".join(sorted(step.keys))
    because = f", since {keys} differs" if keys else ""
    namespace = "" if step.old is None else str(value_at({**step.old.inputs}, "metadata.namespace"))
    if step.old is None or not step.old.keep:
        kind, end = REPLACED, ""
    elif namespace in lost:
        kind, end = (
            structs.replace(REPLACED, why=WITH_NAMESPACE),
            f"; the old one goes with its namespace {namespace}",
        )
    elif steps.is_one_object(step):
        title = f"The claim {name} stays, since it is kept and its replacement has the same name{refused(step)}."
        return SAME_NAME.finding(name, field=keys, title=title, place=place)
    else:
        kind, end = KEPT, "; the old one stays in the cluster, since it is kept"
    return kind.finding(
        name, field=keys, title=f"The claim {name} is replaced by an empty one{because}{end}.", place=place
    )


def _shrunk(step: Step, name: str, place: Place | None) -> Iterator[Finding]:
    was, will = (None if state is None else value_at({**state.inputs}, SIZE) for state in (step.old, step.new))
    sizes = quantity(was), quantity(will)
    if sizes[0] is not None and sizes[1] is not None and sizes[1] < sizes[0]:
        title = f"The claim {name} is made smaller, from {was} to {will}; the API server refuses it."
        yield SHRUNK.finding(name, field=SIZE, before=was, after=will, title=title, place=place)
