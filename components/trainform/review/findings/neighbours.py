"""Effects on other jobs in the queues: fields and queues that change, and jobs that hold more than they then keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from decimal import Decimal
from typing import Any

from msgspec import structs

from trainform.backends.workloads import value_at
from trainform.cluster.amounts import (
    NOTHING,
    POD_SLOTS,
    Amounts,
    all_spelled,
    amounts_of,
    resource_names,
    spelled,
    summed,
)
from trainform.cluster.facts import NO_HOLDERS, LiveFacts
from trainform.errors import list_names
from trainform.manifests.shapes import quantity
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding, Place
from trainform.review.objects import body_of, metadata_of, own_names, queue_of, queue_steps
from trainform.review.pod_needs import needs_of
from trainform.review.preview import Step
from trainform.review.shares import Shares, above, fair_share, held_below, live_queues, offered, shares_of

SHARE = kind("TR-NEIGHBOURS-1")
DELETED = kind("TR-NEIGHBOURS-2")
MOVED = kind("TR-NEIGHBOURS-3")
HOLDERS = kind("TR-NEIGHBOURS-4")
OVER = structs.replace(
    HOLDERS,
    why="A lower `capability` ends no pods. No more start in the queue until its jobs hold no more than that.",
    fix="Wait until they have finished, ask their owners, or lower it less.",
)
NOT_KNOWN = kind("TR-NEIGHBOURS-5")
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
"""The fields with which a new queue takes something from the others at once."""


def find(context: Context) -> Iterator[Finding]:
    """Yield what the owners of other jobs must know."""
    touched: set[str] = set()
    changing = [(name, step) for name, step in queue_steps(context.preview) if steps.fate(step) != "none"]
    for name, step in changing:
        found = [*_of_queue(name, step, context)]
        touched |= {name} if found and step.old is not None else set()
        yield from found
    moves = [finding for job in context.jobs for finding in _moved(job, context)]
    yield from moves
    joined = {str(finding.after) for finding in moves}
    live = context.live
    if live is not None and None not in (live.queues, live.nodes) and NO_HOLDERS not in live.not_read:
        yield from _holders(context, live, joined) if changing or joined else ()
        return
    for name in sorted(touched | joined):
        title = f"It is unknown which jobs hold something in the queue {name}: the cluster was not read."
        yield NOT_KNOWN.finding(name, title=title)


def _of_queue(name: str, step: Step, context: Context) -> Iterator[Finding]:
    """Fields that change, or the end of the queue. Of a new queue only what it takes from the others at once."""
    old, new = body_of(step.old), body_of(step.new)
    former = str(metadata_of(step.old).get("name", name))
    if step.old is not None and step.kind == "Queue" and former != str(metadata_of(step.new).get("name", "")):
        live, jobs = context.live, list[str]()
        if live is not None:
            holders = held_below(former, live, shares_of(context, own=False))
            jobs = [f"{job} ({_words(held, context)})" for job, held in holders if job not in _own(context)]
        title = f"The queue {former} is deleted{f', with jobs in it: {list_names(jobs)}' if jobs else ''}."
        yield DELETED.finding(former, before=former, title=title, place=_place(context, former))
        return
    for field, (path, default) in FIELDS.items():
        before = default if step.old is None else _value(old, path, default)
        after = _value(new, path, default)
        if _equal(before, after) or (step.old is None and field not in TAKEN_AT_ONCE):
            continue
        was = f"`{field}` of the queue {name} changes from {_words(before, context)} to"
        what = was if step.old is not None else f"`{field}` of the new queue {name} is"
        title = f"{what} {_words(after, context)}."
        was_set = None if step.old is None else before
        yield SHARE.finding(name, path, was_set, after, title=title, place=_place(context, name, field))


def _value(body: Mapping[str, Any], path: str, default: Any) -> Any:
    found = value_at(body, path)
    return default if found in (None, {}) else found


def _equal(before: Any, after: Any) -> bool:
    """True also for two spellings of a quantity."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_equal(before[key], after[key]) for key in before)
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    amount = quantity(before)
    return before == after or (amount is not None and amount == quantity(after))


def _words(value: Any, context: Context) -> str:
    if isinstance(value, Mapping):
        names = resource_names(context.environment)
        shown = ((name, amount) for name, amount in sorted(value.items()) if name != POD_SLOTS)
        return list_names([f"{amount} {names.get(name, name)}" for name, amount in shown])
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _place(context: Context, queue: str, field: str = "") -> Place:
    """Where the queue stands: in the environment's file, or in the experiment that declares it."""
    listed = context.environment is not None and queue in context.environment.queues
    stem = f"environment.queues.{queue}" if listed else "queue"
    return context.locate(f"{stem}.{field}" if field else stem)


def _moved(job: JobReview, context: Context) -> Iterator[Finding]:
    before, after = (queue_of(job, after=side) for side in (False, True))
    if before and after and before != after:
        title = f"The job {job.name} moves from the queue {before} to the queue {after}."
        yield MOVED.finding(job.name, "queue", before, after, title=title, place=context.locate("queue"))


# --- jobs that hold more than a queue keeps


def _holders(context: Context, live: LiveFacts, joined: Set[str]) -> Iterator[Finding]:
    """Jobs above a capability that is lowered, and above a share that shrinks or that others may take back from now on.
    joined: queues to which jobs move."""
    before, after, total, own = shares_of(context, own=False), shares_of(context), offered(live), _own(context)
    for name in sorted(before.keys() & after.keys()):
        was, most = (amounts_of(shares[name].capability) for shares in (before, after))
        lowered = {each: most[each] for each in most if each not in was or most[each] < was[each]}
        jobs = {job: held for job, held in held_below(name, live, after) if job not in own}
        title = f"Nothing new starts in the queue {name} until its jobs have given back {{}}: {{}}."
        yield from _finding(OVER, name, title, _above(_held(name, jobs, context, after), lowered), jobs, context)
    for queue in sorted(live_queues(live), key=lambda queue: queue.name):
        name = queue.name
        if name not in before or name not in after or not after[name].reclaimable:
            continue
        keeps: Amounts = {}
        for each in resource_names(context.environment) or total:
            then, now = (fair_share(name, each, shares, total) for shares in (before, after))
            keeps |= {each: Decimal(int(now))} if now < then or name in joined or not before[name].reclaimable else {}
        jobs = {job: held for job, held in queue.holders.items() if job not in own}
        over = _above(_held(name, jobs, context, after), keeps)
        share = _words({each: spelled(each, keeps[each]) for each in over}, context)
        title = f"The queue {name} will hold {{}} above its share of {share}: {{}}."
        others = {job: held for job, held in jobs.items() if job not in queue.firm}
        yield from _finding(HOLDERS, name, title, over, others, context)


def _own(context: Context) -> set[str]:
    return {name for job in context.jobs for name in own_names(job)}


def _held(name: str, jobs: Mapping[str, Any], context: Context, shares: Shares) -> Amounts:
    """What these jobs hold, and what the preview's jobs in the queue and below it request."""
    needs = needs_of(context) or ()
    coming = (need.gang for need in needs if name in (need.queue, *above(need.queue, shares)))
    return summed([*map(amounts_of, jobs.values()), *coming])


def _above(held: Amounts, most: Amounts) -> Amounts:
    return {name: held[name] - amount for name, amount in most.items() if held.get(name, NOTHING) > amount}


def _finding(
    of_kind: Kind, queue: str, title: str, over: Amounts, jobs: Mapping[str, Any], context: Context
) -> Iterator[Finding]:
    """The finding, if other jobs hold something of the resources. title: with places for the amounts and the jobs."""
    others = {job: held for job, held in jobs.items() if any(quantity(held.get(name)) for name in over)}
    if others:
        named = list_names([f"{job} ({_words(others[job], context)})" for job in sorted(others)])
        field = FIELDS["capability"][0] if of_kind is OVER else ""
        said = title.format(_words(all_spelled(over), context), named)
        yield of_kind.finding(queue, field, after=sorted(others), title=said, place=_place(context, queue))
