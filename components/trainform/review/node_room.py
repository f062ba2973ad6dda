"""Room for pods on nodes: sums, and how many of one shape fit. Nodes that are cordoned or not ready do not count."""

from __future__ import annotations

from collections.abc import Sequence, Set
from decimal import Decimal

from msgspec import structs

from trainform.cluster.amounts import NOTHING, POD_SLOTS, Amounts, amounts_of, spelled, summed, without
from trainform.cluster.facts import LiveNode
from trainform.review.pod_limits import Jobs, Lack, Names, amount
from trainform.review.pod_needs import Pods

STATES = "node.kubernetes.io/"  # how taints begin that pass: a node is cordoned, not ready, or short of memory
NATIVE = ("cpu", "memory", "ephemeral-storage", POD_SLOTS)
Groups = Sequence[tuple[Pods, int]]  # pods, and their number: those that start together, or all
Rooms = Sequence[tuple[LiveNode, Amounts]]  # nodes that take pods, each with what is free on it
Short = tuple[Groups, Rooms, str, Decimal]  # pods that do not all fit, where, the resource, what is missing of it


def rooms_of(nodes: Sequence[LiveNode], own: Set[str] | None) -> Rooms:
    """Return the nodes that take pods, with what is free when these jobs have ended; None: when all jobs have."""

    def free(node: LiveNode) -> Amounts:
        ended = summed(amounts_of(held) for job, held in node.holders.items() if own is None or job in own)
        return without(amounts_of(node.allocatable), without(amounts_of(node.requested), ended))

    return [(node, free(node)) for node in nodes if node.open]


def admitting(groups: Groups, rooms: Rooms) -> Rooms:
    """Return the nodes whose labels and taints let some of the pods on them."""
    return [room for room in rooms if any(pods.admitted_by(room[0]) for pods, _ in groups)]


def largest(resource: str, rooms: Rooms) -> Decimal:
    """Return the most of a resource that is free on one node."""
    return max((free.get(resource, NOTHING) for _, free in rooms), default=NOTHING)


def lack_of_nodes(jobs: Jobs, nodes: Sequence[LiveNode], names: Names) -> Lack | None:
    """Return why the pods do not all start on the nodes: never, not now, or only a part of them."""
    pods, shut = [pods for need in jobs.needs for pods in need.pods], sum(not node.open for node in nodes)
    but = f" (cordoned nodes not counted: {shut})" if shut else ""
    empty, now = rooms_of(nodes, None), rooms_of(nodes, jobs.own)
    stay = (tuple(each for each in node.taints if not each.get("key", "").startswith(STATES)) for node in nodes)
    whole = [structs.replace(node, open=True, taints=taints) for node, taints in zip(nodes, stay, strict=True)]
    gang, every = [(each, each.gang) for each in pods], [(each, each.every) for each in pods]
    for each, count in gang:
        if count and not admitting([(each, count)], empty):
            waits = admitting([(each, count)], rooms_of(whole, None))
            return Lack("later" if waits else "never", f"{_kept_out(each, nodes)}{but}")
    short = _too_few(gang, (), empty)
    if short is not None:
        verdict = "later" if _too_few(gang, (), rooms_of(whole, None)) is None else "never"
        return structs.replace(_lack(short, names, jobs, never=but), verdict=verdict)
    before = [(each, each.gang) for need in jobs.earlier for each in need.pods]
    for groups, rooms in ((gang, now), (every, empty), (every, now)):
        short = _too_few(groups, before if rooms is now else (), rooms)
        if short is not None and rooms is empty:  # the gang starts, and the other pods never all do
            return structs.replace(_lack(short, names, jobs, never=but), verdict="later", part=True)
        if short is not None:
            return _lack(short, names, jobs, part=groups is every)
    return None


def _too_few(groups: Groups, before: Groups, rooms: Rooms) -> Short | None:
    """Return the first shortage on these nodes: of pods of one shape, else of all that request some size or more, with
    those that come before. Nothing is placed: without a shortage pods may still wait."""
    groups = [(pods, count) for pods, count in groups if count]
    for pods, count in groups:
        here = admitting([(pods, count)], rooms)
        left = count - sum(pods.fit(free) for _, free in here)
        if left > 0:
            resource = scarcest(pods, here)
            return [(pods, count)], here, resource, _missing(resource, pods.each[resource], left, here)
    sizes = {(name in NATIVE, name, each) for pods, _ in (*groups, *before) for name, each in pods.each.items() if each}
    for _, resource, size in sorted(sizes):
        larger, earlier = ([one for one in side if one[0].each.get(resource, 0) >= size] for side in (groups, before))
        here = admitting([*larger, *earlier], rooms)
        free = [max(room.get(resource, NOTHING), NOTHING) for _, room in here]
        requests = [(pods.each[resource], count) for pods, count in (*larger, *earlier)]
        # of pods of at least this size a node holds no more than it has whole units: two of 5 never share 8
        units = sum(each // size * count for each, count in requests) - sum(amount // size for amount in free)
        over = sum((each * count for each, count in requests), NOTHING) - sum(free, NOTHING)
        if larger and (over > 0 or units > 0):
            return larger, here, resource, max(over, _missing(resource, size, int(units), here))
    return None


def _missing(resource: str, size: Decimal, units: int, rooms: Rooms) -> Decimal:
    """Return how much more must become free for so many units of this size, on the nodes that lack the least."""
    each = [(free.get(resource, NOTHING), amounts_of(node.allocatable).get(resource, NOTHING)) for node, free in rooms]
    least = sorted(size - free % size for free, most in each if free // size < most // size)[: max(units, 0)]
    return sum(least, size * (units - len(least)))


def _lack(short: Short, names: Names, jobs: Jobs, *, part: bool = False, never: str | None = None) -> Lack:
    """Return the shortage. never: the end of its reason if the nodes are too few without other jobs; None otherwise."""
    groups, rooms, resource, missing = short
    requested = sum((pods.each[resource] * count for pods, count in groups), NOTHING)
    pods = max((pods for pods, _ in groups), key=lambda pods: pods.each[resource])
    now = " now" if never is None else ""
    each, most = pods.each[resource], max(largest(resource, rooms), NOTHING)
    if each > most:
        has = f"no node has more than {spelled(resource, most)}{now}"
        reason = f"a pod of {pods.role} needs {amount(resource, each, names)}, and {has}"
    else:
        there = amount(resource, max(requested - missing, NOTHING), names)
        reason = f"the nodes have room for {there}{now}, and the job needs {amount(resource, requested, names)}"
    if never is not None:
        return Lack("never", f"{reason}{never}", resource, requested, missing, largest=most)
    holders = (holder for node, _ in rooms for holder in node.holders.items() if holder[0] not in jobs.own)
    on_nodes = ({job: amounts_of(held).get(resource, NOTHING)} for job, held in holders)
    held = summed([*on_nodes, {need.name: need.gang.get(resource, NOTHING) for need in jobs.earlier}])
    return Lack("later", reason, resource, requested, missing, held, part, largest=most)


def scarcest(pods: Pods, rooms: Rooms) -> str:
    """Return the resource of which the nodes hold the fewest of the pods."""

    def fit(resource: str) -> int:
        return sum(int(free.get(resource, NOTHING) // pods.each[resource]) for _, free in rooms)

    return min((name for name in pods.each if pods.each[name]), key=lambda name: (fit(name), name in NATIVE, name))


def _kept_out(pods: Pods, nodes: Sequence[LiveNode]) -> str:
    """Return why no node admits the pods: all are cordoned, no node has a label, or taints."""
    opened = [node for node in nodes if node.open]
    if not opened:
        return "no node takes pods"
    selected = [node for node in opened if pods.selects(node)]
    if not selected:
        labels = [f"{key}={value}" for key, value in pods.selector.items()]
        existing = {f"{key}={value}" for node in opened for key, value in node.labels.items()}
        missing = [label for label in labels if label not in existing] or labels
        return f"no node has the label{'' if len(missing) == 1 else 's'} {', '.join(missing)}"
    taints = (taint for node in selected for taint in node.taints if not pods.tolerates(taint))
    named = sorted({"{key}={value}:{effect}".format(**{"value": "", **taint}).replace("=:", ":") for taint in taints})
    return f"the pods of {pods.role} do not tolerate the taint {', '.join(named)}"
