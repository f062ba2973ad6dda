"""The pictures of a preview: both sides of each job put on top of each other, with what is added, removed and
changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from trainform.review import steps, wanted
from trainform.review.changes import body_differences, field_differences, new_names
from trainform.review.context import Context, JobReview
from trainform.review.model import Mark, Picture, PictureEdge, PictureFact, PictureNode
from trainform.review.objects import queue_of, templates_of
from trainform.review.picture.sketch import Node, Seen, Sketch, sketch

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What an object of another shape than it should have raises."""
PARTS: Mapping[str, str] = {steps.CLAIM: "claim", steps.QUEUE: "queue", steps.SECRET: "secret"}
"""The objects that are parts of their own; all others belong to the job."""
REPLACED = PictureFact(label="replaced", before="with its job", after="with its job")


def pictures(context: Context) -> list[Picture]:
    """A picture of each job whose pods the preview has."""
    return [picture for job in context.jobs if (picture := _of_job(context, job)) is not None]


def _of_job(context: Context, job: JobReview) -> Picture | None:
    try:
        before, after = (_side(context, job, after=after) for after in (False, True))
    except UNREADABLE:
        return None
    if before is None and after is None:
        return None
    replaced = job.job is not None and steps.fate(job.job) == "replace"
    return compared(job.name, before, after, {*_changed(context, job)}, replaced=replaced)


def _changed(context: Context, job: JobReview) -> Iterator[str]:
    """The ids of the parts whose objects or pods change, whatever the picture says of them."""
    touched = [
        step for step in job.steps if step.is_object and not steps.is_record(step) and steps.fate(step) != "none"
    ]
    names = new_names(job)
    for step in touched:
        if any(field_differences(step, names)):
            kind = steps.kind(step)
            yield f"{PARTS[kind]}/{steps.name(step)}" if kind in PARTS else "job/"
    before, after = ((templates_of(job, context.environment, after=after) or ()) for after in (False, True))
    for role in {template.role for template in before} if touched else ():
        sides = ([template.body for template in side if template.role == role] for side in (before, after))
        if any(any(body_differences(was, will, names)) for was, will in zip(*sides, strict=False)):
            yield f"role/{role}"


def _side(context: Context, job: JobReview, *, after: bool) -> Sketch | None:
    state = None if job.job is None else job.job.new if after else job.job.old
    templates = None if state is None else templates_of(job, context.environment, after=after)
    if job.job is None or templates is None:
        return None
    side = wanted.after(job) if after else wanted.before(job)
    seen = Seen(
        job.name,
        steps.body(job.job, state),
        [steps.body(step, step.new if after else step.old) for step in job.steps if step.is_object],
        templates,
        queue_of(job, after=after),
        None if side is None else side.model,
        context.environment,
        frozenset(_kept(job, after=after)),
    )
    return sketch(seen)


def _kept(job: JobReview, *, after: bool) -> Iterator[str]:
    for step in job.steps:
        state = step.new if after else step.old
        if state is not None and state.keep and steps.kind(step) == steps.CLAIM:
            yield steps.name(step, state)


def compared(
    job: str, before: Sketch | None, after: Sketch | None, changed: Set[str] = frozenset(), *, replaced: bool = False
) -> Picture:
    """The picture of two sides; what only one of them has is added or removed. With one side alone twice it is the
    picture of that side. changed: the ids of parts that change beyond what they say of themselves. replaced: the job
    object is made anew, and all its pods with it."""
    old, new = (Sketch() if side is None else side for side in (before, after))
    nodes = [
        _node(key, old.nodes.get(key), new.nodes.get(key), key in changed, replaced and key.startswith("role/"))
        for key in dict.fromkeys([*new.nodes, *old.nodes])
    ]
    edges = [
        PictureEdge(start=start, end=end, label=label,
            change=_mark((start, end, label) in old.edges, (start, end, label) in new.edges))
        for start, end, label in dict.fromkeys([*new.edges, *old.edges])
    ]  # fmt: skip
    return Picture(job=job, nodes=nodes, edges=edges)


def _mark(before: bool, after: bool) -> Mark:
    return "same" if before and after else "added" if after else "removed"


def _node(key: str, before: Node | None, after: Node | None, changed: bool, replaced: bool) -> PictureNode:
    some = before if after is None else after
    assert some is not None  # noqa: S101 - the key is of one of the sides
    old, new = ({} if side is None else side.facts for side in (before, after))
    facts = [
        PictureFact(label=label, before=old.get(label), after=new.get(label)) for label in dict.fromkeys([*new, *old])
    ]
    mark = _mark(before is not None, after is not None)
    if mark == "same":
        facts += [REPLACED] if replaced else []
        if changed or replaced or any(fact.before != fact.after for fact in facts):
            mark = "changed"
    return PictureNode(id=key, kind=some.kind, name=some.name, change=mark, facts=facts)
