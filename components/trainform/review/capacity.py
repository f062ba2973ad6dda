"""Whether the pods that the preview makes fit: now, when others finish, or never. A feasibility, not a reservation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Literal

from msgspec import structs

from trainform.cluster.amounts import NOTHING, amounts_of
from trainform.cluster.facts import LiveNode
from trainform.errors import list_names
from trainform.manifests.shapes import quantity
from trainform.review.budgets import by_budgets
from trainform.review.context import Context
from trainform.review.gang import Wanted, wanted_of
from trainform.review.model import Capacity
from trainform.review.objects import places_pods
from trainform.review.placement import Group, Impossible, Room, impossible, place, scarcest
from trainform.review.verdicts import WORST, Names, Verdict, ordered, shortage, total_of
from trainform.spec.environment import Accelerator, Environment

NOT_RESERVED = "This is a feasibility by resources, node selectors and taints, not a reservation."


def capacity_of(context: Context) -> Capacity:
    """Whether the pods of all jobs that change fit together."""
    if not any(map(places_pods, context.jobs)):
        sentence = "No job gets other pods, so none needs other room."
        return Capacity(verdict="unchanged", sentence=sentence, basis="none")
    wanted = wanted_of(context)
    if wanted is None or not wanted.groups:
        sentence = "The preview does not say which pods the job makes, so it is not known whether they fit."
        return Capacity(verdict="unknown", sentence=sentence, basis="none")
    nodes = (
        None
        if context.live is None or context.live.nodes is None
        else [node for node in context.live.nodes if node.open]
    )
    sized = None if context.environment is None or not _is_sized(context.environment) else context.environment
    basis: Literal["cluster", "environment", "none"] = (
        "cluster" if nodes is not None else "environment" if sized is not None else "none"
    )
    names = Names(context.environment)
    found = [*by_budgets(context, wanted, names)]
    if nodes is not None:
        found += _by_nodes(wanted, nodes, names)
    elif sized is not None:
        found += _by_environment(wanted, sized, names)
    return _capacity(found, wanted, basis, names)


def _capacity(
    found: Sequence[Verdict], wanted: Wanted, basis: Literal["cluster", "environment", "none"], names: Names
) -> Capacity:
    ranked = sorted(found, key=lambda verdict: WORST.index(verdict.word))
    if ranked:
        said = [each for verdict in ranked if verdict.word == ranked[0].word for each in verdict.shortages]
        shortages = [each for at, each in enumerate(said) if each not in said[:at]]  # queue and nodes may lack the same
        return Capacity(
            verdict=ranked[0].word, sentence=f"{ranked[0].sentence} {NOT_RESERVED}", basis=basis, shortages=shortages
        )
    pods = names.gang(wanted.groups)
    if basis == "cluster":
        return Capacity(verdict="now", sentence=f"{pods} on the nodes now. {NOT_RESERVED}", basis=basis)
    if basis == "environment":
        return Capacity(verdict="unknown", sentence=_by_file(wanted, names), basis=basis)
    sentence = f"{pods} into the queue; what is free of it now is not known. {NOT_RESERVED}"
    return Capacity(verdict="unknown", sentence=sentence, basis=basis)


# --- the nodes of the cluster


def _by_nodes(wanted: Wanted, nodes: Sequence[LiveNode], names: Names) -> Iterator[Verdict]:
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
    names: Names,
) -> Verdict:
    """over: the pods without room, of these groups."""
    missing: dict[str, Decimal] = {}
    holders: dict[str, dict[str, Decimal]] = {}
    for group, count in over:
        admitting = [node for node in nodes if group.admits(_room(node, wanted.own))]
        resource = scarcest(group, [_room(node, wanted.own) for node in admitting])
        missing[resource] = missing.get(resource, NOTHING) + group.asked[resource] * count
        holders.setdefault(resource, {}).update(_holders(admitting, resource, wanted.own))
    asked = total_of(groups)
    shortages = tuple(
        shortage(
            resource,
            asked[resource],
            asked[resource] - missing[resource],
            ordered(holders[resource], resource),
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


def _is_sized(environment: Environment) -> bool:
    """True if the file has the size of all nodes with accelerators."""
    return all(kind.per_node is not None and kind.nodes is not None for kind in environment.accelerators.values())


def _by_environment(wanted: Wanted, environment: Environment, names: Names) -> Iterator[Verdict]:
    """Judge the pods with accelerators: of other nodes the file says nothing."""
    resources = {kind.resource for kind in environment.accelerators.values()}
    fabric = set[str]() if environment.rdma is None else {environment.rdma.resource}
    known = resources | fabric | {"cpu", "memory"}
    groups = [
        structs.replace(group, asked={name: value for name, value in group.asked.items() if name in known})
        for group in wanted.groups
        if resources & group.asked.keys()
    ]
    count = sum(group.count for group in groups)
    rooms = [
        room
        for name, kind in sorted(environment.accelerators.items())
        for room in _rooms(name, kind, environment, groups, min(kind.nodes or 0, count))
    ]
    never = impossible(groups, rooms) if groups else None
    if never is not None:
        yield _never(never, names, "the nodes of the environment's file")


def _rooms(
    name: str, kind: Accelerator, environment: Environment, groups: Sequence[Group], count: int
) -> Iterator[Room]:
    """As many nodes of the kind as pods can need. Their labels are those that the file gives to pods, and others that
    pods select."""
    own = environment.node_selector | kind.node_selector
    others = {key: str(value) for group in groups for key, value in group.selector.items()}
    elsewhere = {key for each in environment.accelerators.values() for key in each.node_selector}
    labels = {key: value for key, value in others.items() if key not in elsewhere} | own
    free = {kind.resource: Decimal(kind.per_node or 0), **amounts_of({"cpu": kind.cpu, "memory": kind.memory})}
    if environment.rdma is not None:
        free[environment.rdma.resource] = Decimal(environment.rdma.per_node)
    return (Room(f"{name}-{index}", labels, (), free) for index in range(count))


# --- words


def _by_file(wanted: Wanted, names: Names) -> str:
    """What the environment's file says where nothing speaks against the pods: it lists the nodes with accelerators
    alone."""
    listed = [group for group in wanted.groups if names.has_accelerators(group)]
    others = sum(group.count for group in wanted.groups) - sum(group.count for group in listed)
    rest = f"{_pods(others)} without accelerators, since the environment's file lists only nodes with them"
    if not listed:
        return f"It is not known whether there is room for {rest}."
    fit = f"{names.gang(listed, ' with accelerators' if others else '')} on the nodes of the environment's file"
    unknown = f", nor whether there is room for {rest}" if others else ""
    return f"{fit}; what is free of it now is not known{unknown}. {NOT_RESERVED}"


def _never(found: Impossible, names: Names, where: str) -> Verdict:
    resource = found.resource
    if found.way == "selector":
        return Verdict("never", f"None of {where} has the labels and taints that the pods of {found.role} need.")
    asked, there = (names.amount(resource, amount) for amount in (found.asked, found.available))
    if found.way == "node":
        sentence = f"A pod of {found.role} asks for {asked}, and none of {where} has more than {there}."
    else:
        whose = f"The pods of {found.role}" if found.role else "The pods of all roles"
        sentence = f"{whose} need {asked} at once, and {where} together hold {there} of such pods."
    return Verdict("never", sentence, (shortage(resource, found.asked, found.available, (), names.of(resource)),))


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _find(count: int) -> str:
    return "finds" if count == 1 else "find"
