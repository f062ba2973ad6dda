"""Room for pods on nodes: sums, and how many of one shape fit. Cordoned nodes do not count."""

from __future__ import annotations

from collections.abc import Sequence, Set
from decimal import Decimal

from msgspec import Struct

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, summed, without
from trainform.cluster.facts import LiveNode
from trainform.review.pod_needs import Pods

NATIVE = ("cpu", "memory", "ephemeral-storage", POD_SLOTS)
Groups = Sequence[tuple[Pods, int]]
"""Pods, and how many of them are meant: those that start together, or all."""


class NodeRoom(Struct, frozen=True):
    """A node that takes pods, and what is free on it."""

    node: LiveNode
    free: Amounts


class Short(Struct, frozen=True):
    """A resource of which the nodes have too little. role, each: of pods that request the most of it. largest: the most
    that a node has free. nodes: those that admit the pods."""

    resource: str
    asked: Decimal
    missing: Decimal
    role: str
    each: Decimal
    largest: Decimal
    nodes: tuple[LiveNode, ...]


def rooms_of(nodes: Sequence[LiveNode], own: Set[str] | None) -> list[NodeRoom]:
    """Return the nodes that take pods, each with what is free when these jobs have gone; None: when all jobs have."""
    rooms = []
    for node in (node for node in nodes if node.open):
        going = summed(amounts_of(held) for job, held in node.holders.items() if own is None or job in own)
        rooms.append(NodeRoom(node, without(amounts_of(node.allocatable), without(amounts_of(node.requested), going))))
    return rooms


def admitting(groups: Groups, rooms: Sequence[NodeRoom]) -> list[NodeRoom]:
    """Return the nodes whose labels and taints let some of the pods on them."""
    return [room for room in rooms if any(pods.admitted_by(room.node) for pods, _ in groups)]


def too_few(groups: Groups, before: Groups, rooms: Sequence[NodeRoom]) -> Short | None:
    """Return the first shortage that shows that the pods cannot all be on these nodes: pods of one shape by themselves,
    else all that request some size or more, with those that come before. Nothing is placed: without a shortage pods may
    still wait."""
    groups = [(pods, count) for pods, count in groups if count]
    for pods, count in groups:
        here = admitting([(pods, count)], rooms)
        left = count - sum(pods.fit(room.free) for room in here)
        if left > 0:
            resource = scarcest(pods, here)
            return _short([(pods, count)], here, resource, pods.each[resource] * left)
    every = [pods for pods, _ in (*groups, *before)]
    for _, resource, size in sorted(
        {(name in NATIVE, name, each) for pods in every for name, each in pods.each.items()}
    ):
        larger, earlier = (
            [(pods, count) for pods, count in side if size and pods.each.get(resource, NOTHING) >= size]
            for side in (groups, before)
        )
        here = admitting([*larger, *earlier], rooms)
        free = [max(room.free.get(resource, NOTHING), NOTHING) for room in here]
        requests = [(pods.each[resource], count) for pods, count in (*larger, *earlier)]
        # of pods of at least this size a node holds no more than it has whole units: two of 5 never share 8
        units = sum(each // size * count for each, count in requests) - sum(amount // size for amount in free if size)
        over = max(units * size, sum((each * count for each, count in requests), NOTHING) - sum(free, NOTHING))
        if larger and over > 0:
            return _short(larger, here, resource, over)
    return None


def _short(groups: Groups, rooms: Sequence[NodeRoom], resource: str, over: Decimal) -> Short:
    largest = max((pods for pods, _ in groups), key=lambda pods: pods.each[resource])
    return Short(
        resource,
        asked=sum((pods.each[resource] * count for pods, count in groups), NOTHING),
        missing=over,
        role=largest.role,
        each=largest.each[resource],
        largest=max((room.free.get(resource, NOTHING) for room in rooms), default=NOTHING),
        nodes=tuple(room.node for room in rooms),
    )


def scarcest(pods: Pods, rooms: Sequence[NodeRoom]) -> str:
    """Return the resource of which the nodes hold the fewest of the pods."""

    def fit(resource: str) -> int:
        return sum(int(room.free.get(resource, NOTHING) // pods.each[resource]) for room in rooms)

    return min((name for name in pods.each if pods.each[name]), key=lambda name: (fit(name), name in NATIVE, name))


def kept_out(pods: Pods, nodes: Sequence[LiveNode]) -> str:
    """Return why none of the nodes admits the pods: cordoned nodes, a label that no node has, or taints."""
    opened, but = [node for node in nodes if node.open], cordoned(nodes)
    if not opened:
        return f"no node takes pods{but}"
    selected = [node for node in opened if pods.selects(node)]
    if not selected:
        labels = {
            f"{key}={value}": any(node.labels.get(key) == value for node in opened)
            for key, value in pods.selector.items()
        }
        named = [label for label, exists in labels.items() if not exists] or [*labels]
        return f"no node has the label{'' if len(named) == 1 else 's'} {', '.join(named)}{but}"
    taints = (taint for node in selected for taint in node.taints if not pods.tolerates(taint))
    named = sorted({"{key}={value}:{effect}".format(**{"value": "", **taint}).replace("=:", ":") for taint in taints})
    return f"the pods of {pods.role} do not tolerate the taint {', '.join(named)}{but}"


def cordoned(nodes: Sequence[LiveNode]) -> str:
    """Return how many nodes do not count, in brackets; "" if all count."""
    shut = sum(not node.open for node in nodes)
    return f" (cordoned nodes not counted: {shut})" if shut else ""
