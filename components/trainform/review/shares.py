"""Volcano's queues before and after a preview: the jobs that hold something in them, and the share of each queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from decimal import Decimal

from msgspec import structs

from trainform import defaults
from trainform.cluster import budgets
from trainform.cluster.amounts import NOTHING, Amounts, amounts_of, summed
from trainform.cluster.facts import LiveFacts, LiveQueue
from trainform.manifests.manifest import mapping
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.job_objects import body_of, queue_steps
from trainform.review.preview import Step

MOST_LEVELS = 16  # of queues above a queue: teams have three or four
NOT_OF_SPEC = {"holders", "firm"}
Shares = Mapping[str, LiveQueue]


def shares_of(context: Context, *, own: bool = True) -> dict[str, LiveQueue]:
    """Return all queues by name, after the stacks that the same review deploys earlier, and after this preview; where
    the cluster was not read, those of the environment's file. own: False for how they are before the preview."""
    live = context.live
    queues = {queue.name: queue for queue in (live.queues if live is not None else None) or ()}
    if not queues and context.environment is not None:
        for name, queue in context.environment.queues.items():
            queues[name] = LiveQueue(name, queue.weight, {}, {}, {}, parent=queue.parent)
    for each in (*context.earlier, *([context] if own else [])):
        changes = [*queue_steps(each.preview)]
        for name, step in changes:
            if step.new is None and step.kind == "Queue":
                queues.pop(name, None)
        for name, step in changes:
            if step.new is not None and (name not in queues or steps.action(step) != "none"):
                queues[name] = _changed(step, queues.get(name))
    return queues


def _changed(step: Step, before: LiveQueue | None) -> LiveQueue:
    """Return the queue as the step leaves it; a `QueuePatch` sets only the fields that it has."""
    body = body_of(step.new)
    queue = budgets.queue(body)
    if before is None:
        return queue
    fields = set(LiveQueue.__struct_fields__) - NOT_OF_SPEC
    fields = fields if step.kind == "Queue" else fields & mapping(body.get("spec")).keys()
    return structs.replace(before, **{field: getattr(queue, field) for field in fields})


def above(name: str, shares: Shares) -> tuple[str, ...]:
    """Return the queues above it, the nearest first, without the root. At most `MOST_LEVELS`, so that a circle ends."""
    names: list[str] = []
    while name in shares and len(names) < MOST_LEVELS and shares[name].parent not in (defaults.ROOT_QUEUE, *names):
        name = shares[name].parent
        names.append(name)
    return tuple(names)


def held_below(name: str, shares: Shares) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each job in the queue and the queues below it, with what it holds."""
    for queue in shares.values():
        if name in (queue.name, *above(queue.name, shares)):
            yield from queue.holders.items()


def offered(live: LiveFacts) -> Amounts:
    """Return what all nodes that take pods offer together."""
    return summed(amounts_of(node.allocatable) for node in live.nodes or () if node.open)


def fair_share(name: str, resource: str, shares: Shares, total: Amounts) -> Decimal:
    """Return the amount of a resource that the queue keeps while all other queues use theirs: `deserved`, or its part
    by weight of the share of the queue above it; never less than `guarantee`. total: of the cluster."""
    share = total.get(resource, NOTHING)
    for queue in (shares[each] for each in (*reversed(above(name, shares)), name) if each in shares):
        siblings = (other for other in shares.values() if other.parent == queue.parent)
        weights = sum(other.weight for other in siblings if other.name != defaults.ROOT_QUEUE)
        by_weight = share * queue.weight / weights if weights else share
        deserved, guarantee = (amounts_of(part).get(resource) for part in (queue.deserved, queue.guarantee))
        share = max(by_weight if deserved is None else deserved, NOTHING if guarantee is None else guarantee)
    return share


def unused_share(shares: Shares, resource: str, own: Set[str], live: LiveFacts) -> dict[str, Decimal]:
    """Return how much of its share each queue does not use; below 0 if it uses more. own: jobs that do not count."""
    total, unused = offered(live), {}
    for name, queue in shares.items():
        held = summed(amounts_of(held) for job, held in queue.holders.items() if job not in own)
        unused[name] = fair_share(name, resource, shares, total) - held.get(resource, NOTHING)
    return unused
