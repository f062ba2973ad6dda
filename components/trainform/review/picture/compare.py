"""The pictures of a preview: both sides of each job put on top of each other, with what is added, removed and
changed."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review import steps, wanted
from trainform.review.context import Context, JobReview
from trainform.review.model import Mark, Picture, PictureEdge, PictureFact, PictureNode
from trainform.review.objects import queue_of, templates_of
from trainform.review.picture.fields import Changed, changed
from trainform.review.picture.sketch import Node, Seen, Sketch, sketch

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What an object of another shape than it should have raises."""
NOTHING = Changed()


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
    return compared(job.name, before, after, changed(context, job))


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


def compared(job: str, before: Sketch | None, after: Sketch | None, more: Changed = NOTHING) -> Picture:
    """The picture of two sides; what only one of them has is added or removed. With one side alone twice it is the
    picture of that side. more: what changes beyond what the parts say of themselves."""
    old, new = (Sketch() if side is None else side for side in (before, after))
    nodes = [
        _node(key, old.nodes.get(key), new.nodes.get(key), more) for key in dict.fromkeys([*new.nodes, *old.nodes])
    ]
    edges = [
        PictureEdge(start=start, end=end, label=label,
            change=_mark((start, end, label) in old.edges, (start, end, label) in new.edges))
        for start, end, label in dict.fromkeys([*new.edges, *old.edges])
    ]  # fmt: skip
    return Picture(job=job, nodes=nodes, edges=edges)


def _mark(before: bool, after: bool) -> Mark:
    return "same" if before and after else "added" if after else "removed"


def _node(key: str, before: Node | None, after: Node | None, more: Changed) -> PictureNode:
    some = before if after is None else after
    assert some is not None  # noqa: S101 - the key is of one of the sides
    old, new = ({} if side is None else side.facts for side in (before, after))
    facts = [
        PictureFact(label=label, before=old.get(label), after=new.get(label)) for label in dict.fromkeys([*new, *old])
    ]
    mark = _mark(before is not None, after is not None)
    if mark == "same":
        facts += more.facts(key, facts)
        if more.marks(key) or any(fact.before != fact.after for fact in facts):
            mark = "changed"
    return PictureNode(id=key, kind=some.kind, name=some.name, change=mark, facts=facts)
