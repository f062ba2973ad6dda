"""Whether the pods that the preview makes fit: now, when others finish, or never. A feasibility, not a reservation."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from trainform.cluster.amounts import NOTHING, Amounts, amounts_of, spelled
from trainform.errors import list_names
from trainform.manifests.shapes import quantity
from trainform.review.context import Context
from trainform.review.live import LiveFacts, LiveNode, LiveQueue
from trainform.review.model import Capacity, Shortage
from trainform.review.objects import own_names, places_pods, queue_of, templates_of
from trainform.review.placement import Group, Impossible, Room, group_of, impossible, place, scarcest
from trainform.review.resource_names import resource_names
from trainform.review.shares import all_nodes, most_of, shares_of
from trainform.spec.environment import Accelerator, Environment

MOST_HOLDERS = 10
NARROWED = "by the guarantees of other queues and the queues above it"
NOT_RESERVED = "This is a feasibility by resources, node selectors and taints, not a reservation."


@dataclasses.dataclass(frozen=True)
class Holding:
    """A queue of the job as it will be. capability: the most that it may hold, without what is kept for others. held: what others hold in it, by job; None if
    that is not known. narrowed: the resources of which others leave it less than its own capability."""

    name: str
    capability: Amounts
    held: Mapping[str, Amounts] | None
    narrowed: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is to be placed: the groups of pods that start together, and those in each queue. every: with the pods that start when there is room.
    own: the jobs that go, or change, whose room is free then."""

    groups: tuple[Group, ...]
    every: tuple[Group, ...]
    by_queue: Mapping[str, tuple[Group, ...]]
    own: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """An answer of one of the judges: the queue, the nodes. The worst one counts, by `WORST`."""

    word: Literal["later", "never", "unknown"]
    sentence: str
    shortages: tuple[Shortage, ...] = ()


WORST = ("never", "later", "unknown")


def capacity_of(context: Context) -> Capacity:
    """Whether the pods of all jobs that change fit together."""
    if not any(map(places_pods, context.jobs)):
        sentence = "No job gets other pods, so none needs other room."
        return Capacity(verdict="unchanged", sentence=sentence, basis="none")
    wanted = _wanted(context)
    if wanted is None or not wanted.groups:
        sentence = "The preview does not say which pods the job makes, so it is not known whether they fit."
        return Capacity(verdict="unknown", sentence=sentence, basis="none")
    nodes = None if context.live is None else context.live.nodes
    basis: Literal["cluster", "environment", "none"] = (
        "cluster" if nodes is not None else "environment" if context.environment is not None else "none"
    )
    names = _Names(context.environment)
    found = [*_by_queues(wanted, _queues(context, wanted), names)]
    if nodes is not None:
        found += _by_nodes(wanted, nodes, names)
    elif context.environment is not None:
        found += _by_environment(wanted, context.environment, names)
    return _capacity(found, wanted, basis, names)


def _capacity(
    found: Sequence[Verdict], wanted: Wanted, basis: Literal["cluster", "environment", "none"], names: _Names
) -> Capacity:
    ranked = sorted(found, key=lambda verdict: WORST.index(verdict.word))
    if ranked:
        shortages = [shortage for verdict in ranked if verdict.word == ranked[0].word for shortage in verdict.shortages]
        return Capacity(
            verdict=ranked[0].word, sentence=f"{ranked[0].sentence} {NOT_RESERVED}", basis=basis, shortages=shortages
        )
    pods = names.gang(wanted.groups)
    if basis == "cluster":
        return Capacity(verdict="now", sentence=f"{pods} on the nodes now. {NOT_RESERVED}", basis=basis)
    against = "on the nodes of the environment's file" if basis == "environment" else "into the queue"
    sentence = f"{pods} {against}; what is free of it now is not known. {NOT_RESERVED}"
    return Capacity(verdict="unknown", sentence=sentence, basis=basis)


def _wanted(context: Context) -> Wanted | None:
    by_queue: dict[str, list[Group]] = defaultdict(list)
    every: list[Group] = []
    own: set[str] = set()
    for job in filter(places_pods, context.jobs):
        templates = templates_of(job, context.environment)
        if templates is None:
            return None
        groups = [group for template in templates if (group := group_of(template)) is not None]
        every += (group for template in templates if (group := group_of(template, every=True)) is not None)
        by_queue[queue_of(job, after=True)] += groups
        own |= own_names(job)
    together = tuple(group for groups in by_queue.values() for group in groups)
    held = {queue: tuple(groups) for queue, groups in by_queue.items()}
    return Wanted(together, tuple(every), held, frozenset(own))


# --- the queue


def _queues(context: Context, wanted: Wanted) -> list[Holding]:
    shares, total = shares_of(context), all_nodes(context)
    found = []
    for name, most in most_of(sorted(wanted.by_queue), shares, total).items():
        live, own = _live_queue(context.live, name), shares[name].capability if name in shares else {}
        narrowed = frozenset(resource for resource, amount in most.items() if amount != own.get(resource))
        found.append(Holding(name, most, None if live is None else _held(live, wanted.own), narrowed))
    return found


def _live_queue(live: LiveFacts | None, name: str) -> LiveQueue | None:
    """The queue as the cluster has it; None if it has none of this name, or was not read."""
    queues = () if live is None or live.queues is None else live.queues
    return next((queue for queue in queues if queue.name == name), None)


def _held(queue: LiveQueue, own: frozenset[str]) -> dict[str, Amounts]:
    return {job: amounts_of(amounts) for job, amounts in queue.holders.items() if job not in own}


def _by_queues(wanted: Wanted, queues: Iterable[Holding], names: _Names) -> Iterator[Verdict]:
    for queue in queues:
        asked = _total(wanted.by_queue[queue.name])
        for resource in sorted(asked.keys() & queue.capability.keys()):
            need, most = asked[resource], queue.capability[resource]
            held = {
                job: amounts.get(resource, NOTHING)
                for job, amounts in ({} if queue.held is None else queue.held).items()
            }
            free = most - sum(held.values(), NOTHING)
            shown, amount = names.of(resource), names.amount
            why = f" ({NARROWED})" if resource in queue.narrowed else ""
            if need > most:
                sentence = (
                    f"The queue {queue.name} may hold {amount(resource, most)}{why}, and the gang needs "
                    f"{amount(resource, need)} at once."
                )
                yield Verdict("never", sentence, (_shortage(resource, need, most, (), shown),))
            elif need > free:
                sentence = (
                    f"The queue {queue.name} has {amount(resource, max(free, NOTHING))} left, and the gang needs "
                    f"{amount(resource, need)} at once: it waits until others finish."
                )
                yield Verdict("later", sentence, (_shortage(resource, need, free, _ordered(held, resource), shown),))


# --- the nodes of the cluster


def _by_nodes(wanted: Wanted, nodes: Sequence[LiveNode], names: _Names) -> Iterator[Verdict]:
    rooms = [_room(node, wanted.own) for node in nodes]
    over = place(wanted.groups, rooms)
    if not over:
        waiting = place(wanted.every, rooms)
        if waiting:
            yield _later(waiting, wanted.every, nodes, wanted, names)
        return
    emptied = [_room(node, frozenset(node.holders)) for node in nodes]
    never = impossible(wanted.groups, emptied)
    if never is not None:
        yield _never(never, names, "the nodes of the cluster that take pods")
    elif place(wanted.groups, emptied):
        yield Verdict(
            "unknown", "The pods do not fit on the nodes one after the other, even when all others have finished."
        )
    else:
        yield _later(over, wanted.groups, nodes, wanted, names)


def _later(
    over: Sequence[tuple[Group, int]],
    groups: Sequence[Group],
    nodes: Sequence[LiveNode],
    wanted: Wanted,
    names: _Names,
) -> Verdict:
    """over: the pods without room, of these groups."""
    missing: dict[str, Decimal] = {}
    holders: dict[str, dict[str, Decimal]] = {}
    for group, count in over:
        admitting = [node for node in nodes if group.admits(_room(node, wanted.own))]
        resource = scarcest(group, [_room(node, wanted.own) for node in admitting])
        missing[resource] = missing.get(resource, NOTHING) + group.asked[resource] * count
        holders.setdefault(resource, {}).update(_holders(admitting, resource, wanted.own))
    asked = _total(groups)
    shortages = tuple(
        _shortage(
            resource,
            asked[resource],
            asked[resource] - missing[resource],
            _ordered(holders[resource], resource),
            names.of(resource),
        )
        for resource in missing
    )
    lacking = list_names([names.amount(resource, amount) for resource, amount in missing.items()])
    pods = sum(count for _, count in over)
    of_all = sum(group.count for group in groups)
    which = (
        f"{_pods(pods)} of the gang" if groups is wanted.groups else f"The gang fits, and {pods} of all {_pods(of_all)}"
    )
    sentence = f"{which} {_find(pods)} no room on the nodes now: {lacking} missing until others finish."
    return Verdict("later", sentence, shortages)


def _holders(nodes: Iterable[LiveNode], resource: str, own: frozenset[str]) -> dict[str, Decimal]:
    held: dict[str, Decimal] = {}
    for node in nodes:
        for job, amounts in node.holders.items():
            amount = quantity(amounts.get(resource))
            if amount and job not in own:
                held[job] = held.get(job, NOTHING) + amount
    return held


def _room(node: LiveNode, without: frozenset[str]) -> Room:
    """The node as it is without these jobs."""
    free = amounts_of(node.allocatable)
    for name, amount in amounts_of(node.requested).items():
        free[name] = free.get(name, NOTHING) - amount
    for job in node.holders.keys() & without:
        for name, amount in amounts_of(node.holders[job]).items():
            free[name] = free.get(name, NOTHING) + amount
    return Room(node.name, node.labels, node.taints, free)


# --- the environment's file


def _by_environment(wanted: Wanted, environment: Environment, names: _Names) -> Iterator[Verdict]:
    """Judge the pods with accelerators: of other nodes the file says nothing."""
    resources = {kind.resource for kind in environment.accelerators.values()}
    fabric = set[str]() if environment.rdma is None else {environment.rdma.resource}
    known = resources | fabric | {"cpu", "memory"}
    groups = [
        dataclasses.replace(group, asked={name: value for name, value in group.asked.items() if name in known})
        for group in wanted.groups
        if resources & group.asked.keys()
    ]
    count = sum(group.count for group in groups)
    rooms = [
        room
        for name, kind in sorted(environment.accelerators.items())
        for room in _rooms(name, kind, environment, groups, min(kind.nodes, count))
    ]
    never = impossible(groups, rooms) if groups else None
    if never is not None:
        yield _never(never, names, "the nodes of the environment's file")


def _rooms(
    name: str, kind: Accelerator, environment: Environment, groups: Sequence[Group], count: int
) -> Iterator[Room]:
    """As many nodes of the kind as pods can need. Their labels are those that the file gives to pods, and others that pods select."""
    own = environment.node_selector | kind.node_selector
    others = {key: str(value) for group in groups for key, value in group.selector.items()}
    elsewhere = {key for each in environment.accelerators.values() for key in each.node_selector}
    labels = {key: value for key, value in others.items() if key not in elsewhere} | own
    free = {kind.resource: Decimal(kind.per_node), **amounts_of({"cpu": kind.cpu, "memory": kind.memory})}
    if environment.rdma is not None:
        free[environment.rdma.resource] = Decimal(environment.rdma.per_node)
    return (Room(f"{name}-{index}", labels, (), free, whole=False) for index in range(count))


# --- words


def _never(found: Impossible, names: _Names, where: str) -> Verdict:
    resource = found.resource
    if found.way == "selector":
        return Verdict("never", f"None of {where} has the labels and taints that the pods of {found.role} need.")
    asked, there = (names.amount(resource, amount) for amount in (found.asked, found.available))
    if found.way == "node":
        sentence = f"A pod of {found.role} asks for {asked}, and none of {where} has more than {there}."
    else:
        whose = f"The pods of {found.role}" if found.role else "The pods of all roles"
        sentence = f"{whose} need {asked} at once, and {where} together hold {there} of such pods."
    return Verdict("never", sentence, (_shortage(resource, found.asked, found.available, (), names.of(resource)),))


def _shortage(resource: str, asked: Decimal, available: Decimal, holders: Iterable[str], shown: str) -> Shortage:
    available = max(available, NOTHING)
    return Shortage(
        resource=shown,
        asked=spelled(resource, asked),
        available=spelled(resource, available),
        missing=spelled(resource, asked - available),
        holders=[*holders],
    )


def _ordered(held: Mapping[str, Decimal], resource: str) -> list[str]:
    """The holders, the largest first: `ai-namespace/mnist-3b2c1d: 16`."""
    every = sorted((job for job in held if held[job]), key=lambda job: (-held[job], job))
    shown = [f"{job}: {spelled(resource, held[job])}" for job in every[:MOST_HOLDERS]]
    return shown if len(every) <= MOST_HOLDERS else [*shown, f"and {len(every) - MOST_HOLDERS} more"]


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _find(count: int) -> str:
    return "finds" if count == 1 else "find"


class _Names:
    """How a reader calls resources: by the kind of accelerator where only one has the resource."""

    def __init__(self, environment: Environment | None) -> None:
        kinds = {} if environment is None else environment.accelerators
        self._names = resource_names(environment)
        self._accelerators = frozenset(kind.resource for kind in kinds.values())

    def of(self, resource: str) -> str:
        """The name of the resource."""
        return self._names.get(resource, resource)

    def amount(self, resource: str, value: Decimal) -> str:
        """`32 a800`."""
        return f"{spelled(resource, value)} {self.of(resource)}"

    def gang(self, groups: Sequence[Group]) -> str:
        """The pods and their accelerators, with the verb: `All 4 pods of the gang (32 a800) fit`."""
        total, count = _total(groups), sum(group.count for group in groups)
        held = [self.amount(name, total[name]) for name in sorted(total) if name in self._accelerators]
        beside = f" ({', '.join(held)})" if held else ""
        return f"The only pod{beside} fits" if count == 1 else f"All {count} pods of the gang{beside} fit"


def _total(groups: Iterable[Group]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for group in groups:
        for name in group.asked:
            total[name] = total.get(name, NOTHING) + group.total(name)
    return total
