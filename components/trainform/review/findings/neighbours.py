"""What the change means for others in the queues: shares that change, queues that go, and jobs that hold something
there now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from msgspec import Struct, structs

from trainform.backends.workloads import value_at
from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, all_spelled, amounts_of, summed
from trainform.cluster.facts import NO_HOLDERS, LiveQueue
from trainform.errors import list_names
from trainform.manifests.shapes import quantity
from trainform.review.context import Context, JobReview
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding, Place
from trainform.review.objects import body_of, metadata_of, own_names, queue_of, queue_steps
from trainform.review.preview import Step
from trainform.review.shares import Share, above, shares_of
from trainform.review.verdicts import resource_names

SHARE = Kind(
    "TR-NEIGHBOURS-1",
    Category.neighbours,
    "medium",
    "A field of a queue changes that decides how much its jobs and those of other queues get.",
    "The scheduler shares the cluster out anew at once: jobs may wait longer, and what they hold above their share "
    "may be taken back.",
    "Agree on it with the owners of the jobs in this queue and in the others.",
)
DELETED = Kind(
    "TR-NEIGHBOURS-2",
    Category.neighbours,
    "high",
    "A queue is deleted.",
    "Jobs that name it are refused from then on, and what waits in it is not scheduled.",
    "Move its jobs to another queue first.",
)
MOVED = Kind(
    "TR-NEIGHBOURS-3",
    Category.neighbours,
    "medium",
    "A job moves to another queue.",
    "It shares what that queue may hold with the jobs that are in it, and leaves room in its former one.",
    "Agree on it with the owners of the jobs in that queue.",
)
HOLDERS = Kind(
    "TR-NEIGHBOURS-4",
    Category.neighbours,
    "medium",
    "Other jobs hold something in a queue that this change is about.",
    "What they hold above the queue's share may be reclaimed where the scheduler's `reclaim` action is on, which "
    "ends their pods.",
    "Ask their owners, or wait until they have finished.",
)
OVER = structs.replace(
    HOLDERS,
    why="A lower `capability` ends no pods; no more start in the queue until its jobs hold no more than that.",
    fix="Wait until they have finished, ask their owners, or lower it less.",
)
NOT_KNOWN = Kind(
    "TR-NEIGHBOURS-5",
    Category.neighbours,
    "low",
    "It is not known who holds something in a queue that this change is about.",
    "The cluster was not read, so jobs of others may be affected.",
    "Run the review where the cluster can be reached and pods of all namespaces may be listed, or look with `vcctl "
    "queue get`.",
)
KINDS = (SHARE, DELETED, MOVED, HOLDERS, NOT_KNOWN)

# The fields of a queue, each with its path in the object and the value that Volcano takes where it is not set.
FIELDS: Mapping[str, tuple[str, Any]] = {
    "weight": ("spec.weight", 1),
    "capability": ("spec.capability", None),
    "guarantee": ("spec.guarantee.resource", None),
    "deserved": ("spec.deserved", None),
    "reclaimable": ("spec.reclaimable", True),
}
TAKEN_AT_ONCE = ("guarantee", "deserved", "reclaimable")
"""The fields with which a queue takes something from the others as soon as it is there."""
MAY_BE_RECLAIMED = "that may be reclaimed where the scheduler's `reclaim` action is on"


class _Touched(Struct, frozen=True):
    """A queue that the change is about. reclaimable: whether others may take back what its jobs hold above its share,
    as the change makes it; None: as the cluster has it. resources: those that it is about; None: all. kept: what nobody
    takes back from its jobs, as the change makes it. lowered: what its jobs may hold from now on, if that is less than
    before and all that changes."""

    name: str
    reclaimable: bool | None = None
    resources: frozenset[str] | None = None
    kept: Amounts = {}
    lowered: Amounts = {}


def find(context: Context) -> Iterator[Finding]:
    """What others in the queues must know."""
    touched: dict[str, _Touched] = {}
    for name, step in queue_steps(context.preview):
        found = [*_of_queue(name, step, context)]
        if found and step.old is not None:  # nobody holds anything in a new queue
            reclaimable = value_at(body_of(step.new), "spec.reclaimable") is not False
            kept = amounts_of(value_at(body_of(step.new), FIELDS["guarantee"][0]))
            touched[name] = _Touched(name, reclaimable, _resources(found), kept, _lowered(found))
        yield from found
    for job in context.jobs:
        for finding in _moved(job, context):
            yield finding
            touched.setdefault(str(finding.after), _Touched(str(finding.after)))
    own = {name for job in context.jobs for name in own_names(job)}
    shares = shares_of(context)
    for queue in sorted(touched.values(), key=lambda queue: queue.name):
        yield from _holders(queue, own, context, shares)


def _of_queue(name: str, step: Step, context: Context) -> Iterator[Finding]:
    """Fields that change, or the queue's end. Of a new queue only what it takes from the others: what is kept free for
    it, and a share that they cannot take back."""
    if step.old is None:
        yield from _of_new_queue(name, body_of(step.new), context)
        return
    goes = step.new is None or metadata_of(step.old).get("name") != metadata_of(step.new).get("name")
    if goes and step.kind == "Queue":
        old = str(metadata_of(step.old).get("name", name))
        yield DELETED.finding(old, before=old, title=f"The queue {old} is deleted.", place=_place(context, old))
        return
    for field, (path, default) in FIELDS.items():
        before, after = (_value(body_of(state), path, default) for state in (step.old, step.new))
        if not _equal(before, after):
            title = f"`{field}` of the queue {name} changes from {_words(before, context)} to {_words(after, context)}."
            yield SHARE.finding(name, path, before, after, title=title, place=_place(context, name, field))


def _of_new_queue(name: str, body: Mapping[str, Any], context: Context) -> Iterator[Finding]:
    for field in TAKEN_AT_ONCE:
        path, default = FIELDS[field]
        value = _value(body, path, default)
        if not _equal(value, default):
            title = f"The new queue {name} has `{field}` {_words(value, context)}."
            yield SHARE.finding(name, path, None, value, title=title, place=_place(context, name, field))


def _lowered(found: list[Finding]) -> Amounts:
    """The capability where it alone changes, and becomes less of each resource that changes; otherwise nothing."""
    if [finding.field for finding in found] != [FIELDS["capability"][0]]:
        return {}
    before, after = amounts_of(found[0].before), amounts_of(found[0].after)
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    if any(name not in after or after[name] > before.get(name, after[name]) for name in changed):
        return {}
    return {name: after[name] for name in changed}


def _resources(found: list[Finding]) -> frozenset[str] | None:
    """The resources whose amounts change; None for all, where another field than an amount changes, or the queue
    goes."""
    changed: set[str] = set()
    for finding in found:
        sides = [finding.before, finding.after]
        if not any(isinstance(side, Mapping) for side in sides):
            return None
        before, after = (side if isinstance(side, Mapping) else {} for side in sides)
        changed |= {name for name in {**before, **after} if not _equal(before.get(name), after.get(name))}
    return frozenset(changed)


def _value(body: Mapping[str, Any], path: str, default: Any) -> Any:
    found = value_at(body, path)
    return default if found in (None, {}) else found


def _equal(before: Any, after: Any) -> bool:
    """Also in another spelling of a quantity."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_equal(before[key], after[key]) for key in before)
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    amount = quantity(before)
    return before == after or (amount is not None and amount == quantity(after))


def _words(value: Any, context: Context) -> str:
    if isinstance(value, Mapping):
        names = resource_names(context.environment)
        return list_names([f"{amount} {names.get(name, name)}" for name, amount in sorted(value.items())])
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _place(context: Context, queue: str, field: str = "") -> Place:
    """Where the queue stands: in the environment's file, or in the experiment that brings it."""
    listed = context.environment is not None and queue in context.environment.queues
    stem = f"environment.queues.{queue}" if listed else "queue"
    return context.locate(f"{stem}.{field}" if field else stem)


def _moved(job: JobReview, context: Context) -> Iterator[Finding]:
    before, after = (queue_of(job, after=side) for side in (False, True))
    if before and after and before != after:
        title = f"The job {job.name} moves from the queue {before} to the queue {after}."
        yield MOVED.finding(job.name, "queue", before, after, title=title, place=context.locate("queue"))


def _holders(queue: _Touched, own: Set[str], context: Context, shares: Mapping[str, Share]) -> Iterator[Finding]:
    """own: the jobs of the preview. shares: all queues."""
    queues = _with_those_below(queue.name, context, shares)
    if queues is None:
        title = f"It is not known who holds something in the queue {queue.name}, since the cluster was not read."
        yield NOT_KNOWN.finding(queue.name, title=title)
        return
    if queue.lowered:
        yield from _over(queue, queues, own, context)
        return
    others = {
        job: amounts
        for each in queues
        for job, amounts in (each.holders if _is_reclaimable(each, queue) else {}).items()
        if job not in own | each.firm and (queue.resources is None or _holds(amounts, queue.resources))
    }
    held = summed(amounts_of(_without_slots(amounts)) for each in queues for amounts in each.holders.values())
    if not others or all(amount <= queue.kept.get(name, NOTHING) for name, amount in held.items()):
        return
    named = [f"{job} ({_words(_without_slots(amounts), context)})" for job, amounts in sorted(others.items())]
    verb = "1 other job holds" if len(others) == 1 else f"{len(others)} other jobs hold"
    title = f"{verb} something in the queue {queue.name} {MAY_BE_RECLAIMED}: {list_names(named)}."
    yield HOLDERS.finding(queue.name, after=sorted(others), title=title)


def _over(queue: _Touched, queues: list[LiveQueue], own: Set[str], context: Context) -> Iterator[Finding]:
    """What the jobs of the queue hold above what it may hold from now on."""
    held = summed(amounts_of(amounts) for each in queues for amounts in each.holders.values())
    over = {name: held.get(name, NOTHING) - most for name, most in queue.lowered.items()}
    above_it = {name: amount for name, amount in over.items() if amount > NOTHING}
    others = {
        job: {name: amount for name, amount in amounts.items() if name in above_it}
        for each in queues
        for job, amounts in each.holders.items()
        if job not in own and _holds(amounts, frozenset(above_it))
    }
    if not others:
        return
    missing = _words(all_spelled(above_it), context)
    named = list_names([f"{job} ({_words(amounts, context)})" for job, amounts in sorted(others.items())])
    title = f"Nothing new starts in the queue {queue.name} until its jobs have given back {missing}: {named}."
    yield OVER.finding(queue.name, after=sorted(others), title=title)


def _holds(amounts: Mapping[str, str], resources: frozenset[str]) -> bool:
    return any(quantity(amounts.get(resource)) for resource in resources)


def _with_those_below(name: str, context: Context, shares: Mapping[str, Share]) -> list[LiveQueue] | None:
    """The queue and all queues below it, as the cluster has them; None if nobody knows who holds something in them."""
    live = context.live
    if live is None or live.queues is None or NO_HOLDERS in live.not_read:
        return None
    return [queue for queue in (*live.queues, *live.other_queues) if name in (queue.name, *above(queue.name, shares))]


def _is_reclaimable(queue: LiveQueue, touched: _Touched) -> bool:
    return queue.reclaimable if queue.name != touched.name or touched.reclaimable is None else touched.reclaimable


def _without_slots(amounts: Mapping[str, str]) -> dict[str, str]:
    return {name: amount for name, amount in amounts.items() if name != POD_SLOTS}
