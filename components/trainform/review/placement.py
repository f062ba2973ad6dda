"""Where pods fit on nodes: first-fit-decreasing, which is no scheduler. What it places fits; what it does not place may
still fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from trainform.cluster.amounts import NOTHING, POD_SLOTS
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template

NATIVE = ("cpu", "memory", "ephemeral-storage", POD_SLOTS)
KEEPING_OUT = frozenset({"NoSchedule", "NoExecute"})
HALF = Decimal("0.5")


class Room(Struct, frozen=True):
    """A node as a place for pods. free: what it has left."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    free: Mapping[str, Decimal]


class Group(Struct, frozen=True):
    """Pods of one template that start together. asked: by one of them. node_ports: the ports of its node that each
    takes, so no two of them fit on one."""

    role: str
    count: int
    asked: Mapping[str, Decimal]
    selector: Mapping[str, Any]
    tolerations: Sequence[Mapping[str, Any]]
    node_ports: frozenset[str] = frozenset()

    def total(self, resource: str) -> Decimal:
        """What all of the pods ask for."""
        return self.asked.get(resource, NOTHING) * self.count

    def admits(self, room: Room) -> bool:
        """True if the labels and taints of the node let the pods on it."""
        selected = all(room.labels.get(key) == value for key, value in self.selector.items())
        return selected and all(_tolerated(taint, self.tolerations) for taint in room.taints)

    def most_on(self, free: Mapping[str, Decimal]) -> int:
        """How many of the pods fit into what is free, if no others come."""
        fitting = (int(free.get(name, NOTHING) // value) for name, value in self.asked.items() if value)
        return max(0, min(1 if self.node_ports else self.count, *fitting, self.count))


def group_of(template: Template, *, every: bool = False) -> Group | None:
    """The pods of the template that start together; None if none has to. every: all its pods, also those that start
    when there is room."""
    count = template.replicas if every else template.min_available
    if not count:
        return None
    asked = {resource: template.pod_request(resource) for resource in sorted(template.resources())}
    return Group(
        template.role,
        count,
        {**asked, POD_SLOTS: Decimal(1)},
        mapping(template.spec.get("nodeSelector")),
        mappings(template.spec.get("tolerations")),
        template.node_ports(),
    )


def _tolerated(taint: Mapping[str, str], tolerations: Iterable[Mapping[str, Any]]) -> bool:
    return taint.get("effect") not in KEEPING_OUT or any(_matches(each, taint) for each in tolerations)


def _matches(toleration: Mapping[str, Any], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator") == "Exists":
        return key in (None, "", taint.get("key"))
    return key == taint.get("key") and str(toleration.get("value", "")) == taint.get("value", "")


def place(groups: Sequence[Group], rooms: Sequence[Room]) -> list[tuple[Group, int]]:
    """The groups of which pods are left over, each with their number. The largest pods come first, and each takes the
    first node with room."""
    left = {room.name: dict(room.free) for room in rooms}
    taken: dict[str, set[str]] = {room.name: set() for room in rooms}
    over = []
    for group in sorted(groups, key=_size, reverse=True):
        remaining = group.count
        for room in rooms:
            free, ports = left[room.name], taken[room.name]
            has_room = remaining and group.node_ports.isdisjoint(ports) and group.admits(room)
            placed = min(remaining, group.most_on(free)) if has_room else 0
            ports.update(group.node_ports if placed else ())
            for name, value in group.asked.items() if placed else ():
                free[name] = free.get(name, NOTHING) - value * placed
            remaining -= placed
        if remaining:
            over.append((group, remaining))
    return over


def _size(group: Group) -> tuple[Decimal, Decimal, Decimal]:
    extended = sum((value for name, value in group.asked.items() if name not in NATIVE), NOTHING)
    return extended, group.asked.get("cpu", NOTHING), group.asked.get("memory", NOTHING)


class Impossible(Struct, frozen=True):
    """Why pods can never fit: in what way (`node`: one pod is too large, `selector`: no node admits it, `nodes`: all
    are too many), and of which resource how much is there and how much would be needed. role: of the pods, "" for
    all."""

    way: str
    role: str
    resource: str = ""
    asked: Decimal = NOTHING
    available: Decimal = NOTHING


def impossible(groups: Sequence[Group], rooms: Sequence[Room]) -> Impossible | None:
    """Why no placement on these nodes exists, the first reason; None if that is not shown. rooms: with all that they
    could have free."""
    for group in groups:
        admitting = [room for room in rooms if group.admits(room)]
        if not admitting:
            return Impossible("selector", group.role)
        if not any(group.most_on(room.free) for room in admitting):
            return _too_large(group, admitting)
    for group in groups:
        admitting = [room for room in rooms if group.admits(room)]
        most = sum(group.most_on(room.free) for room in admitting)
        if most < group.count:
            resource = scarcest(group, admitting)
            return Impossible(
                "nodes", group.role, resource, group.total(resource), group.asked.get(resource, NOTHING) * most
            )
    return _too_many(groups, rooms)


def _too_large(group: Group, admitting: Sequence[Room]) -> Impossible:
    largest = {name: max(room.free.get(name, NOTHING) for room in admitting) for name in group.asked}
    # where each resource fits on some node and all on none, the one that fits on the fewest is named
    resource = max(group.asked, key=lambda name: (group.asked[name] > largest[name], name not in NATIVE))
    return Impossible("node", group.role, resource, group.asked[resource], largest[resource])


def _too_many(groups: Sequence[Group], rooms: Sequence[Room]) -> Impossible | None:
    usable = [room for room in rooms if any(group.admits(room) for group in groups)]
    resources = sorted({name for group in groups for name in group.asked}, key=lambda name: (name in NATIVE, name))
    for resource in resources:
        asked = sum((group.total(resource) for group in groups), NOTHING)
        there = sum((room.free.get(resource, NOTHING) for room in usable), NOTHING)
        largest = max((room.free.get(resource, NOTHING) for room in usable), default=NOTHING)
        # two pods that take more than half of the largest node each never share one
        alone = [group for group in groups if group.asked.get(resource, NOTHING) > largest * HALF]
        if asked > there:
            return Impossible("nodes", "", resource, asked, there)
        if sum(group.count for group in alone) > len(usable):
            asked = sum((group.total(resource) for group in alone), NOTHING)
            return Impossible("nodes", "", resource, asked, _of_largest(alone, resource, len(usable)))
    return None


def _of_largest(groups: Sequence[Group], resource: str, nodes: int) -> Decimal:
    """What pods that take a node each get of the resource, the largest pods first."""
    each = sorted((group.asked[resource] for group in groups for _ in range(group.count)), reverse=True)
    return sum(each[:nodes], NOTHING)


def scarcest(group: Group, rooms: Sequence[Room]) -> str:
    """The resource of which the nodes hold the fewest pods of the group."""

    def pods(resource: str) -> int:
        asked = group.asked[resource]
        return sum(int(room.free.get(resource, NOTHING) // asked) for room in rooms)

    asked = [name for name in group.asked if group.asked[name]]
    return min(asked, key=lambda name: (pods(name), name in NATIVE, name))
