"""Findings about data: claims that are deleted, replaced, shrunk or no longer kept."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from trainform.backends.backend import value_at
from trainform.console.lines import MASK, UNKNOWN
from trainform.errors import list_names
from trainform.manifests.manifest import quantity
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.effects import SIZE, object_causes, refused
from trainform.review.job_change import job_change
from trainform.review.kinds import kind
from trainform.review.model import Change, Finding, Place
from trainform.review.mounts import kept_claims
from trainform.review.preview import State, Step
from trainform.review.settings import platform_causes

DELETED = kind("TR-DATA-1")
REPLACED = kind("TR-DATA-2")
SHRUNK = kind("TR-DATA-3")
NOT_KEPT = kind("TR-DATA-4")
NEW_NOT_KEPT = kind("TR-DATA-4", "new")
NAMESPACE_GONE = kind("TR-DATA-5")
RENAMED = kind("TR-DATA-6")
WITH_NAMESPACE = kind("TR-DATA-2", "with_namespace")
KEPT = kind("TR-DATA-2", "kept")
LEAVES = kind("TR-DATA-2", "leaves")
SAME_NAME = kind("TR-DATA-2", "same_name")


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings about data: the claims of each job, then all others, by name."""
    lost = {
        steps.name_before(step): step
        for step in steps.of_kind(context.preview.steps, steps.NAMESPACE)
        if steps.action(step) in ("delete", "replace") and not (step.old is not None and step.old.keep)
    }
    for job in context.jobs:
        happens = job_change(context, job)
        mounted, kept = kept_claims(job), _leave(job.steps)
        for step in steps.of_kind(job.steps, steps.CLAIM):
            causes = object_causes(step, happens)
            yield from _of_claim(step, causes, lost, kept)
            if job.after is not None and steps.leaves(step) and steps.name_before(step) not in mounted:
                yield LEAVES.finding(steps.name_before(step), place=causes[0].place if causes else None)
    for step in steps.of_kind(steps.others(context), steps.CLAIM):
        yield from _of_claim(step, platform_causes(step, context), lost, _leave(steps.others(context)))
    queues = () if context.live is None or context.live.queues is None else context.live.queues
    holders = {holder.partition("/") for queue in queues for holder in queue.holders}
    for name, step in lost.items():
        jobs = sorted(job for namespace, _, job in holders if namespace == name)
        living = f", also what is there now: {', '.join(jobs)}" if jobs else ""
        place = next((cause.place for cause in platform_causes(step, context)), None)
        yield NAMESPACE_GONE.finding(name, place=place, happens=steps.action(step), living=living)
    yield from _renamed(context.preview.steps)


def _renamed(given: Sequence[Step]) -> Iterator[Finding]:
    """Yield objects that one resource makes and another one loses. Kept ones stay, and what a patch gives back."""
    made = {_object(step, step.new): step for step in given if step.is_object and steps.action(step) == "create"}
    made.pop((), None)
    for step in given:
        after = made.get(_object(step, step.old)) if steps.action(step) == "delete" else None
        if after is not None and after.urn != step.urn and not steps.leaves(step) and not steps.gives_up(step):
            yield RENAMED.finding(steps.name_before(step), steps.kind(step), step.name, after.name)


def _object(step: Step, state: State | None) -> tuple[str, ...]:
    """Return what the object is in its cluster; empty if its name is not known."""
    namespace, name = (value_at(steps.body(step, state), path) for path in steps.IDENTITY)
    if state is None or not isinstance(name, str) or name in (UNKNOWN, MASK):
        return ()
    return (step.type, state.provider, str(namespace), name)


def _leave(given: tuple[Step, ...]) -> str:
    """Return the kept claims that the stack no longer has afterwards."""
    old = (each for each in steps.of_kind(given, steps.CLAIM) if steps.action(each) in ("delete", "replace"))
    return list_names([steps.name_before(each) for each in old if each.old is not None and each.old.keep])


def _of_claim(step: Step, causes: Sequence[Change], lost: Container[str], kept: str) -> Iterator[Finding]:
    """Yield the findings of a claim. lost: the namespaces that go with everything in them. kept: claims that leave."""
    happens, name = steps.action(step), steps.name_before(step)
    place = None if not causes else causes[0].place
    if happens == "delete" and not steps.leaves(step):
        yield DELETED.finding(name, identity=_identity(step))
    if happens == "replace":
        yield _replaced(step, name, place, lost)
    if kept and happens in ("create", "replace") and not step.state.keep:
        yield NEW_NOT_KEPT.finding(name, "keep", kept, place=place)
    if steps.no_longer_kept(step):
        yield NOT_KEPT.finding(name, "keep", True, False, place=place)
    was, will = (None if state is None else value_at({**state.inputs}, SIZE) for state in (step.old, step.new))
    sizes = quantity(was), quantity(will)
    if happens == "update" and sizes[0] is not None and sizes[1] is not None and sizes[1] < sizes[0]:
        yield SHRUNK.finding(name, SIZE, was, will, place=place)


def _replaced(step: Step, name: str, place: Place | None, lost: Container[str]) -> Finding:
    keys = ", ".join(sorted(step.keys))
    because = f", since {keys} differs" if keys else ""
    namespace = "" if step.old is None else str(value_at({**step.old.inputs}, "metadata.namespace"))
    about = KEPT
    if step.old is None or not step.old.keep:
        about = REPLACED
    elif namespace in lost:
        about = WITH_NAMESPACE
    elif steps.is_one_object(step):
        return SAME_NAME.finding(name, keys, place=place, refused=refused(step))
    return about.finding(name, keys, place=place, identity=_identity(step), because=because, namespace=namespace)


def _identity(step: Step) -> str:
    """Return what a waiver of a loss is bound to: this claim, and no later one of its name."""
    return f"{steps.name_before(step)} {'' if step.old is None else step.old.identity}"
