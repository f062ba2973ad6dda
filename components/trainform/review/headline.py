"""The first line of a report: the worst that happens, then the cost and the number of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from trainform.console.sections import counted, listed
from trainform.errors import list_names
from trainform.review.context import Context
from trainform.review.effects import job_effect
from trainform.review.facts import DESTROYS
from trainform.review.job_change import JobChange, job_change
from trainform.review.model import Capacity, Cost, Effect, Finding

MOST_NAMED = 2
"""Claims that the headline names; of more it gives the number."""
VERBS = {
    "stop": "stops",
    "delete": "deletes",
    "replace": "replaces",
    "leave": "takes out of the stack",
    "unknown": "does something unknown to",
    "scale": "scales",
    "update": "changes",
    "create": "creates",
}
"""The kinds of effects, the worst first."""
LEVELS: tuple[Literal["high", "medium", "low"], ...] = ("high", "medium", "low")


def headline(
    context: Context, effects: Sequence[Effect], findings: Sequence[Finding], cost: Cost, capacity: Capacity
) -> str:
    """Return what happens, what it costs, and how many findings there are: "Scales the elastic role worker 3 → 5 in
    place. +24.00 USD/h. 1 medium finding."."""
    of_stack = [effect.sentence for effect in effects if effect.thing == "stack"]
    happens = [*_sentences(context, effects, capacity)]
    costs = _cost(cost) if happens else ""
    return " ".join(filter(None, [*happens, *of_stack, costs, _counted(findings)]))


def _sentences(context: Context, every: Sequence[Effect], capacity: Capacity) -> Iterator[str]:
    happens = [effect for effect in every if effect.kind in VERBS and effect.thing != "stack"]
    objects = [effect for effect in happens if effect.thing != "record"]
    effects = objects if objects else happens
    lost = [effect for effect in effects if effect.thing == "namespace" and effect.kind in DESTROYS and not effect.kept]
    yield from (effect.sentence for effect in lost)
    others = [effect for effect in effects if effect not in lost]
    jobs = [found for job in context.jobs if (found := job_change(context, job)).kind != "none"]
    clause = f"never starts: {context.missing[0]} does not exist" if context.missing else capacity.clause
    if len(jobs) == 1:
        destroyed = [effect for effect in others if effect.kind in (*DESTROYS, "leave") and effect.thing != "job"]
        kept = [effect.object for effect in every if effect.kind == "keep" and effect.thing == "claim"]
        data = [f"data stays in {list_names(kept, MOST_NAMED)}"] if kept else []
        yield f"{'; '.join([_job(jobs[0], clause), *_by_kind(destroyed), *data])}."
    elif len(others) == 1:
        yield others[0].sentence
    elif others:
        running = sum(job.state == "running" for job in jobs if job.kind in DESTROYS)
        stopped = [f"stops {counted(running, 'running job')}"] if running else []
        waiting = [f"what is new {clause}"] if jobs and clause else []
        text = "; ".join([", ".join(_by_kind(others)), *stopped, *waiting])
        yield f"{text[0].upper()}{text[1:]}."


def _job(job: JobChange, clause: str) -> str:
    """Return the change of the only job, and the reason why the new one does not start."""
    stops = clause and job.kind == "replace" and job.state == "running"
    text = job_effect(job, "job stop and create" if stops else "").sentence.removesuffix(".")
    if not clause:
        return text
    if job.kind == "replace":
        return f"{text}; the new one {clause}"
    return f"{text}, which {clause}" if job.kind == "create" and not job.again else f"{text}; it {clause}"


def _by_kind(effects: Sequence[Effect]) -> Iterator[str]:
    """Yield the changes, the worst first: `deletes the claim data`, `creates the queue night and 3 claims`."""
    for kind, verb in VERBS.items():
        things = []
        for thing in dict.fromkeys(effect.thing for effect in effects if effect.kind == kind):
            # an object may have several effects of a kind, and several objects may be one effect
            found = {effect.object: effect for effect in effects if (effect.kind, effect.thing) == (kind, thing)}
            count = sum(effect.after if isinstance(effect.after, int) else 1 for effect in found.values())
            things.append(f"the {thing} {next(iter(found))}" if count == 1 else counted(count, thing))
        if things:
            yield f"{verb} {listed(things)}"


def _cost(cost: Cost) -> str:
    """Return the difference per hour with its sign, or that it is unknown; empty where nothing has a price."""
    if cost.difference is None:
        return "" if cost.known else "The cost is unknown."
    return f"{cost.difference.amount:+.2f} {cost.difference.currency}/h."


def _counted(findings: Sequence[Finding]) -> str:
    """Return the findings that are not waived, by level: `1 high and 2 medium findings.`."""
    counts = Counter(finding.level for finding in findings if not finding.waived)
    parts = [f"{counts[level]} {level}" for level in LEVELS if counts[level]]
    return f"{listed(parts)} finding{'' if counts.total() == 1 else 's'}." if parts else ""
