"""The most that each queue may hold, with what Volcano keeps free for other queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.cluster.amounts import NOTHING, Amounts, amounts_of
from trainform.manifests.shapes import mapping
from trainform.review.context import Context
from trainform.review.objects import queue_steps
from trainform.spec.environment import Environment

MOST_LEVELS = 16  # of queues above a queue: teams have three or four


class Share(Struct, frozen=True):
    """What a queue may hold at most, as it will be, and what is kept free for it."""

    parent: str
    capability: Amounts
    guarantee: Amounts


def most_of(names: Iterable[str], shares: Mapping[str, Share], total: Amounts) -> dict[str, Amounts]:
    """The most that Volcano lets each of the queues hold: its capability, and never what it keeps for the queues beside it, nor more than the queue above."""
    kept = _kept(shares)
    found: dict[str, Amounts] = {}
    for name in names:
        line: dict[str, Share] = {}
        at = name
        while at in shares and at not in line and at not in found and at != defaults.ROOT_QUEUE:  # a circle ends
            line[at] = shares[at]
            at = shares[at].parent
        for below, share in reversed(line.items()):
            above = found.get(share.parent, {})  # nothing of the root, which has all nodes
            found[below] = _most(share, above, kept.get(share.parent, {}), total)
    return {name: found.get(name, {}) for name in names}


def _kept(shares: Mapping[str, Share]) -> dict[str, dict[str, tuple[Decimal, int]]]:
    """What is kept for the queues below each queue, by resource, and for how many of them."""
    kept: dict[str, dict[str, tuple[Decimal, int]]] = defaultdict(dict)
    for share in shares.values():
        for resource, amount in share.guarantee.items():
            others, count = kept[share.parent].get(resource, (NOTHING, 0))
            kept[share.parent][resource] = others + amount, count + 1
    return kept


def _most(share: Share, above: Amounts, kept: Mapping[str, tuple[Decimal, int]], total: Amounts) -> Amounts:
    """above: what the queue above holds at most. kept: for the queues below that one, this queue among them."""
    most = dict(above)
    for resource in kept.keys() & (above.keys() | total.keys()):
        amount, count = kept[resource]
        own = share.guarantee.get(resource)
        if count > (own is not None):
            most[resource] = most.get(resource, total.get(resource, NOTHING)) - amount + (own or NOTHING)
    for resource, capability in share.capability.items():
        most[resource] = min(most.get(resource, capability), capability)
    return {resource: max(amount, NOTHING) for resource, amount in most.items()}


def above(name: str, shares: Mapping[str, Share]) -> tuple[str, ...]:
    """The queues above it, the nearest first, without the one that has all nodes. At most `MOST_LEVELS`, so that the work grows with the queues alone."""
    found: list[str] = []
    while name in shares and len(found) < MOST_LEVELS and shares[name].parent not in (defaults.ROOT_QUEUE, *found):
        name = shares[name].parent
        found.append(name)
    return tuple(found)


def shares_of(context: Context) -> dict[str, Share]:
    """All queues: as the preview makes them, or else as the cluster or the environment has them."""
    live = context.live
    found: dict[str, Share] = {}
    if context.environment is not None:
        unread = live is None or live.queues is None  # for a queue that the cluster lacks nothing is kept
        found |= _of_environment(context.environment, kept=unread)
    for queues in () if live is None else (live.queues, live.other_queues):
        for each in () if queues is None else queues:
            found[each.name] = Share(each.parent, amounts_of(each.capability), amounts_of(each.guarantee))
    steps = [*queue_steps(context.preview)]
    for name, step in steps:
        if step.new is None and step.kind == "Queue":
            found.pop(name, None)
    for name, step in steps:
        if step.new is not None:
            found[name] = _share(mapping(step.new.inputs.get("spec")))
    return found


def _of_environment(environment: Environment, *, kept: bool) -> dict[str, Share]:
    found = {}
    for name, queue in environment.queues.items():
        capability, guarantee = (_by_resource(each, environment) for each in (queue.capability, queue.guarantee))
        found[name] = Share(queue.parent, amounts_of(capability), amounts_of(guarantee if kept else {}))
    return found


def _share(spec: Mapping[str, Any]) -> Share:
    guarantee = mapping(spec.get("guarantee")).get("resource")
    parent = str(spec.get("parent", defaults.ROOT_QUEUE))
    return Share(parent, amounts_of(spec.get("capability")), amounts_of(guarantee))


def all_nodes(context: Context) -> Amounts:
    """What all nodes offer together, or the accelerators of the environment's file; empty if nobody knows."""
    total: Amounts = {}
    if context.live is not None and context.live.nodes is not None:
        for node in context.live.nodes:  # also the cordoned ones: Volcano counts them
            for name, amount in amounts_of(node.allocatable).items():
                total[name] = total.get(name, NOTHING) + amount
    elif context.environment is not None:
        for kind in context.environment.accelerators.values():
            total[kind.resource] = total.get(kind.resource, NOTHING) + (kind.per_node or 0) * (kind.nodes or 0)
    return total


def _by_resource(amounts: Mapping[str, str], environment: Environment) -> dict[str, str]:
    kinds = environment.accelerators
    return {kinds[name].resource if name in kinds else name: value for name, value in amounts.items()}
