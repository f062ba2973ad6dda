"""The four facts of a review, each with one number: run, data, cost and queue."""

from __future__ import annotations

from collections.abc import Sequence

from trainform.console.sections import counted
from trainform.errors import list_names
from trainform.review.model import Capacity, Cost, Dependents, Effect, Fact

MOST_NAMED = 3
DESTROYS = ("stop", "delete", "replace")
RUNS = {
    "replace": "{object}{up} starts again",
    "stop": "{object}{up} stops",
    "delete": "{object} is deleted",
    "create": "{object} is new",
    "scale": "{object} keeps running with other replicas",
    "update": "{object} changes in place",
    "unknown": "unknown change of {object}",
    "none": "{object} is not in the cluster; `pulumi up --refresh` creates it again",
}
STATES = {"running": " stops and", "finished": " has finished and", "unknown": ", which may be running,"}
CLAIMS = {
    "delete": "deleted",
    "replace": "replaced by an empty one",
    "leave": "kept, out of the stack",
    "stop": "deleted",
    "unknown": "with an unknown change",
    "update": "changed in place",
    "scale": "changed in place",
    "create": "new or adopted",
    "keep": "unchanged",
}
"""Words for effects on claims, the worst first."""
VERDICTS = {
    "now": "fits now",
    "later": "waits",
    "never": "never starts",
    "unknown": "unknown",
    "unchanged": "unchanged",
}


def facts_of(effects: Sequence[Effect], dependents: Sequence[Dependents], cost: Cost, capacity: Capacity) -> list[Fact]:
    """Return the facts in the order run, data, cost, queue."""
    return [_run(effects, dependents), _data(effects), cost_fact(cost), _queue(capacity, effects)]


def _run(effects: Sequence[Effect], dependents: Sequence[Dependents]) -> Fact:
    jobs = [effect for effect in effects if effect.thing == "job" and effect.kind in RUNS]
    users = sorted({experiment for each in dependents for experiment in each.stacks.values()})
    if not jobs and users:
        text = f"used by {list_names(users, MOST_NAMED)}"
        return Fact(key="run", number=counted(len(users), "experiment"), text=text)
    if not jobs:
        return Fact(key="run", number="unchanged")
    texts = []
    for job in jobs[:MOST_NAMED]:
        up = f" (up {job.age})" if job.age else ""
        state = STATES.get(job.state, "") if job.kind == "replace" else ""
        texts.append(RUNS[job.kind].format(object=job.object, up=f"{up}{state}"))
    if len(jobs) > MOST_NAMED:
        texts.append(f"{len(jobs) - MOST_NAMED} more")
    number = jobs[0].size if len(jobs) == 1 and jobs[0].size else counted(len(jobs), "job")
    return Fact(key="run", number=number, text="; ".join(texts))


def _data(effects: Sequence[Effect]) -> Fact:
    lost = [each.object for each in effects if each.thing == "namespace" and each.kind in DESTROYS and not each.kept]
    if lost:
        text = f"{counted(len(lost), 'namespace')} deleted with all claims: {list_names(lost, MOST_NAMED)}"
        return Fact(key="data", number="all claims", text=text)
    claims, counts = dict[str, list[str]](), set[str]()
    for kind in CLAIMS:  # a claim counts by the worst that happens to it
        of_kind = (each.object for each in effects if (each.thing, each.kind) == ("claim", kind))
        claims[kind] = [name for name in dict.fromkeys(of_kind) if name not in counts]
        counts.update(claims[kind])
    worst, *others = [kind for kind in CLAIMS if claims[kind]] or [""]
    if not worst:
        return Fact(key="data", number="unchanged")
    texts = [list_names(claims[worst], MOST_NAMED), *(f"{len(claims[kind])} {CLAIMS[kind]}" for kind in others)]
    return Fact(key="data", number=f"{counted(len(claims[worst]), 'claim')} {CLAIMS[worst]}", text="; ".join(texts))


def cost_fact(cost: Cost) -> Fact:
    """Return the fact about the cost of a stack, or of several together."""
    if cost.difference is None:
        return Fact(key="cost", number="none" if cost.known else "unknown", text=cost.unknown)
    before, after = (money.text if money is not None else "0" for money in (cost.before, cost.after))
    percent = "" if cost.percent is None else f" ({cost.percent}%)"
    text = f"{after} an hour by the environment's prices" if before == after else f"{before} → {after} an hour{percent}"
    if cost.before is cost.after is None:
        text = f"for what is deployed, by other prices{percent}"
    if cost.total is not None:
        text += f", {cost.total.text} for {cost.hours} h"
    return Fact(key="cost", number=f"{cost.difference.amount:+.2f} {cost.difference.currency}/h", text=text)


def _queue(capacity: Capacity, effects: Sequence[Effect]) -> Fact:
    number = VERDICTS[capacity.verdict]
    changed = [effect.object for effect in effects if effect.thing == "queue" and effect.kind not in ("keep", "none")]
    if capacity.verdict == "unchanged" and changed:
        text = list_names(changed, MOST_NAMED)
        return Fact(key="queue", number=f"{counted(len(changed), 'queue')} changed", text=text)
    if capacity.verdict in ("now", "unchanged"):
        return Fact(key="queue", number=number, text=capacity.reason)
    lack = next(iter(capacity.shortages), None)  # the worst
    if lack is None or not lack.holders:
        return Fact(key="queue", number=number, text=capacity.reason or capacity.sentence)
    held = f"held by {list_names(lack.holders, MOST_NAMED)}"
    return Fact(key="queue", number=number, text=f"{lack.missing} {lack.resource} missing, {held}")
