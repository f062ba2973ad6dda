"""Room for pods on nodes: sums, and how many of one shape fit. Cordoned nodes do not count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from decimal import Decimal

from msgspec import Struct

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, summed, without
from trainform.cluster.facts import LiveNode
from trainform.review.pod_needs import Pods

NATIVE = ("cpu", "memory", "ephemeral-storage", POD_SLOTS)
Count = Callable[[Pods], int]
"""How many of the pods are meant: those that start together, or all."""


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
    """The nodes that take pods, each with what is free when these jobs have gone; None: when all jobs have."""
    return [NodeRoom(node, _free(node, own)) for node in nodes if node.open]


def _free(node: LiveNode, own: Set[str] | None) -> Amounts:
    going = (amounts_of(held) for job, held in node.holders.items() if own is None or job in own)
    return without(amounts_of(node.allocatable), without(amounts_of(node.requested), summed(going)))


def admitting(groups: Sequence[Pods], rooms: Sequence[NodeRoom]) -> list[NodeRoom]:
    """The nodes whose labels and taints let some of the pods on them."""
    return [room for room in rooms if any(pods.admitted_by(room.node) for pods in groups)]


def too_few(groups: Sequence[Pods], before: Sequence[Pods], rooms: Sequence[NodeRoom], count: Count) -> Short | None:
    """The first shortage that shows that the pods cannot all be on these nodes: pods of one shape by themselves, else
    all that request some size or more, with those that come before. Nothing is placed: without a shortage pods may
    still wait."""
    groups = [pods for pods in groups if count(pods)]
    for pods in groups:
        here = admitting([pods], rooms)
        left = count(pods) - sum(min(pods.fit(room.free), count(pods)) for room in here)
        if left > 0:
            resource = scarcest(pods, here)
            return _short([pods], here, resource, pods.each[resource] * left, count)
    both = (*groups, *before)
    sizes = {(name in NATIVE, name, amount) for pods in both for name, amount in pods.each.items() if amount}
    for _, resource, size in sorted(sizes):
        larger, earlier = (
            [pods for pods in each if pods.each.get(resource, NOTHING) >= size] for each in (groups, before)
        )
        if not larger:
            continue
        here = admitting([*larger, *earlier], rooms)
        free = [max(room.free.get(resource, NOTHING), NOTHING) for room in here]
        wanted = [(pods.each[resource], count(pods)) for pods in (*larger, *earlier)]
        # of pods of at least this size a node holds no more than it has whole units: two of 5 never share 8
        units = sum(each // size * number for each, number in wanted) - sum(amount // size for amount in free)
        over = max(units * size, sum((each * number for each, number in wanted), NOTHING) - sum(free, NOTHING))
        if over > 0:
            return _short(larger, here, resource, over, count)
    return None


def _short(groups: Sequence[Pods], rooms: Sequence[NodeRoom], resource: str, over: Decimal, count: Count) -> Short:
    largest = max(groups, key=lambda pods: pods.each[resource])
    return Short(
        resource,
        sum((pods.each[resource] * count(pods) for pods in groups), NOTHING),
        over,
        largest.role,
        largest.each[resource],
        max((room.free.get(resource, NOTHING) for room in rooms), default=NOTHING),
        tuple(room.node for room in rooms),
    )


def scarcest(pods: Pods, rooms: Sequence[NodeRoom]) -> str:
    """The resource of which the nodes hold the fewest of the pods."""

    def fit(resource: str) -> int:
        return sum(int(room.free.get(resource, NOTHING) // pods.each[resource]) for room in rooms)

    return min((name for name in pods.each if pods.each[name]), key=lambda name: (fit(name), name in NATIVE, name))


def kept_out(pods: Pods, nodes: Sequence[LiveNode]) -> str:
    """Why none of the nodes admits the pods: cordoned nodes, a label that no node has, or taints."""
    opened, but = [node for node in nodes if node.open], cordoned(nodes)
    if not opened:
        return f"no node takes pods{but}"
    labels = {f"{key}={value}": (key, value) for key, value in pods.selector.items()}
    lacking = [text for text, (key, value) in labels.items() if all(node.labels.get(key) != value for node in opened)]
    selected = [node for node in opened if pods.selects(node)]
    if not selected:
        named = lacking if lacking else [*labels]
        return f"no node has the label{'' if len(named) == 1 else 's'} {', '.join(named)}{but}"
    taints = {_shown(taint) for node in selected for taint in node.taints if not pods.tolerates(taint)}
    return f"the pods of {pods.role} do not tolerate the taint {', '.join(sorted(taints))}{but}"


def cordoned(nodes: Sequence[LiveNode]) -> str:
    """How many nodes do not count, in brackets; "" if all count."""
    shut = sum(not node.open for node in nodes)
    return f" (cordoned nodes not counted: {shut})" if shut else ""


def _shown(taint: Mapping[str, str]) -> str:
    value = taint.get("value")
    return f"{taint.get('key')}{f'={value}' if value else ''}:{taint.get('effect')}"
