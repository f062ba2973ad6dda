"""Effects on other jobs in the queues: fields and queues that change, and jobs above the new share or capability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from trainform.cluster import budgets
from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, resource_names, spelled, summed
from trainform.cluster.facts import NO_HOLDERS, LiveFacts
from trainform.errors import list_names
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.job_objects import body_of, metadata_of, own_names, queue_of, queue_steps
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding, Place
from trainform.review.pod_needs import needs_of
from trainform.review.preview import Step
from trainform.review.shares import Shares, above, fair_share, held_below, offered, shares_of

SHARE = kind("TR-NEIGHBOURS-1")
NEW = kind("TR-NEIGHBOURS-1", "new")
DELETED = kind("TR-NEIGHBOURS-2")
MOVED = kind("TR-NEIGHBOURS-3")
HOLDERS = kind("TR-NEIGHBOURS-4")
OVER = kind("TR-NEIGHBOURS-4", "capability")

FIELDS = ("weight", "capability", "guarantee", "deserved", "reclaimable")
TAKEN_AT_ONCE = ("guarantee", "deserved", "reclaimable")
"""Fields by which a new queue takes resources from the others at once."""
Holders = Mapping[str, Mapping[str, str]]


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings for the owners of other jobs."""
    changing = [(name, step) for name, step in queue_steps(context.preview) if steps.action(step) != "none"]
    for name, step in changing:
        yield from _check_queue(name, step, context)
    joined: set[str] = set()
    for job in context.jobs:
        before, after = (queue_of(job, after=side) for side in (False, True))
        if before and after and before != after:
            joined.add(after)
            yield MOVED.finding(job.name, "queue", before, after, place=context.locate("queue"))
    live = context.live
    is_read = live is not None and None not in (live.queues, live.nodes) and NO_HOLDERS not in live.not_read
    if live is not None and is_read and (changing or joined):
        yield from _check_holders(context, live, joined)


def _check_queue(name: str, step: Step, context: Context) -> Iterator[Finding]:
    """Yield fields that change, or the deletion of the queue; of a new queue the fields in `TAKEN_AT_ONCE`."""
    former = str(metadata_of(step.old).get("name", name))
    if step.old is not None and step.kind == "Queue" and former != str(metadata_of(step.new).get("name", "")):
        jobs = _others(dict(held_below(former, shares_of(context, own=False))), context)
        living = f", with jobs in it: {_named(jobs, context)}" if jobs else ""
        yield DELETED.finding(former, before=former, place=_place(context, former), living=living)
        return
    old, new = (budgets.queue(body_of(state)) for state in (step.old, step.new))
    for field in TAKEN_AT_ONCE if step.old is None else FIELDS:
        before, after = getattr(old, field), getattr(new, field)
        if before == after or (isinstance(before, Mapping) and amounts_of(before) == amounts_of(after)):
            continue
        about, was = (NEW, None) if step.old is None else (SHARE, None if before == {} else before)
        words = {"name": field, "was": _words(before, context), "will": _words(after, context)}
        place = _place(context, name, f".{field}")
        yield about.finding(name, f"spec.{field}", was, None if after == {} else after, place=place, **words)


def _words(value: Any, context: Context) -> str:
    if isinstance(value, Mapping):
        names = resource_names(context.environment)
        shown = ((name, amount) for name, amount in sorted(value.items()) if name != POD_SLOTS)
        return list_names([f"{amount} {names.get(name, name)}" for name, amount in shown]) if value else "not set"
    return str(value).lower()


def _place(context: Context, queue: str, field: str = "") -> Place:
    """Return the place of the queue: in the environment's file, or in the experiment that declares it."""
    listed = context.environment is not None and queue in context.environment.queues
    return context.locate(f"environment.queues.{queue}{field}" if listed else f"queue{field}")


# --- jobs above a share or capability


def _check_holders(context: Context, live: LiveFacts, joined: Set[str]) -> Iterator[Finding]:
    """Yield jobs above a capability that is lowered, and above a share that shrinks or that others may take back from
    now on. joined: queues to which jobs move."""
    before, after, total = shares_of(context, own=False), shares_of(context), offered(live)
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        was, most = amounts_of(old.capability), amounts_of(new.capability)
        lowered = {each: most[each] for each in most if each not in was or most[each] < was[each]}
        yield from _over(OVER, name, lowered, dict(held_below(name, after)), after, context)
        if not new.reclaimable:
            continue
        keeps: Amounts = {}
        for each in resource_names(context.environment) or total:
            then, now = (fair_share(name, each, shares, total) for shares in (before, after))
            if now < then or name in joined or not old.reclaimable:
                keeps[each] = now.to_integral_value("ROUND_FLOOR")
        yield from _over(HOLDERS, name, keeps, new.holders, after, context)


def _over(
    about: Kind, queue: str, most: Amounts, holders: Holders, shares: Shares, context: Context
) -> Iterator[Finding]:
    """Yield the finding, if other jobs hold something that is above the amounts with the pods of the preview."""
    jobs = _others(holders, context)
    coming = [need.gang for need in needs_of(context) or () if queue in (need.queue, *above(need.queue, shares))]
    held = summed([*map(amounts_of, jobs.values()), *coming])
    over = {name: held[name] - amount for name, amount in most.items() if held.get(name, NOTHING) > amount}
    firm = shares[queue].firm if about is HOLDERS else ()
    jobs = {job: held for job, held in jobs.items() if job not in firm and any(map(amounts_of(held).get, over))}
    if jobs:
        above_it, limit = (_words({name: spelled(name, each[name]) for name in over}, context) for each in (over, most))
        words = {"over": above_it, "most": limit, "jobs": _named(jobs, context)}
        field = "spec.capability" if about is OVER else ""
        yield about.finding(queue, field, after=sorted(jobs), place=_place(context, queue), **words)


def _others(holders: Holders, context: Context) -> dict[str, Mapping[str, str]]:
    """Return the jobs that do not belong to this preview."""
    own = {name for job in context.jobs for name in own_names(job)}
    return {job: held for job, held in holders.items() if job not in own}


def _named(jobs: Holders, context: Context) -> str:
    return list_names([f"{job} ({_words(jobs[job], context)})" for job in sorted(jobs)])
