"""Queues: amounts that Volcano's webhook compares, and the tree that they form."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from trainform import defaults
from trainform.errors import Problem, list_names
from trainform.plan.build import resource_name
from trainform.plan.model import Plan
from trainform.rules.quantities import amount_problems
from trainform.rules.references import Known, unknown
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import RESOURCE, matches
from trainform.spec.quantities import amount
from trainform.spec.queues import QueueRequest

AMOUNTS = ("capability", "deserved", "guarantee")
WITHIN = (
    ("guarantee", "deserved", "the amount is more than the queue deserves"),
    ("deserved", "capability", "the amount is more than the queue's capability"),
)
"""Amounts that are at most those of another field, and the reason where they are not. Source: Volcano 1.14.1,
validate_queue.go."""


class _Queues(Struct, frozen=True, dict=True):
    """The queues of an environment, with what rules ask about all of them for each."""

    environment: Environment

    @functools.cached_property
    def parents(self) -> Known:
        """The queues that may be the parent of a queue."""
        return Known({defaults.ROOT_QUEUE: None, **self.environment.queues})

    @functools.cached_property
    def kinds(self) -> Known:
        """What amounts may be of, beside resources."""
        return Known(self.environment.accelerators)

    @functools.cached_property
    def children(self) -> dict[str, list[str]]:
        """Names of the queues below each queue that has any."""
        found: dict[str, list[str]] = {}
        for name, request in self.environment.queues.items():
            found.setdefault(request.parent, []).append(name)
        return found

    @functools.cached_property
    def capabilities(self) -> dict[str, dict[str, Decimal]]:
        """Of each queue, by resource."""
        queues = self.environment.queues.items()
        return {name: _amounts(request, "capability", self.environment) for name, request in queues}

    @functools.cached_property
    def circling(self) -> frozenset[str]:
        """Queues that are their own ancestors."""
        queues, met, found = self.environment.queues, dict[str, str](), set[str]()
        for start in queues:
            name = start
            while name in queues and name not in met:
                met[name] = start
                name = queues[name].parent
            if met.get(name) == start:  # this very walk has come back to where it was
                found.update(_line(name, self.environment))
        return frozenset(found)


def environment_queue_problems(environment: Environment) -> Iterator[Problem]:
    """Every queue by itself, and sums over the children of each."""
    queues = _Queues(environment)
    for name, request in environment.queues.items():
        path = f"queues.{name}"
        yield from _queue_problems(path, request, queues)
        yield from _parent_problems(path, request, name in queues.circling, queues)
        children = [environment.queues[child] for child in queues.children.get(name, ())]
        yield from _children_problems(path, request, children, environment)
    if environment.admission == defaults.KUEUE and environment.queues:
        yield Problem(
            "queues",
            None,
            "the queues are Volcano's, and in this environment Kueue admits jobs",
            "remove them, or write `admission: volcano`",
        )
    if defaults.ROOT_QUEUE in environment.queues:
        yield Problem(
            f"queues.{defaults.ROOT_QUEUE}",
            None,
            "the queue is Volcano's own and cannot be changed",
            "choose another name",
        )


def job_queue_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """The queue that an experiment names or brings along."""
    name, request = plan.queue.name, plan.queue.request
    queues = _Queues(environment)
    if request is not None:
        yield from _queue_problems("queue", request, queues)
        yield from _parent_problems("queue", request, name in _line(request.parent, environment), queues)
        parent = environment.queues.get(request.parent)
        if parent is not None and (request.deserved or request.guarantee):
            siblings = [environment.queues[child] for child in queues.children.get(request.parent, ())]
            yield from _children_problems("queue.parent", parent, [*siblings, request], environment)
        if name in {*environment.queues, defaults.QUEUE, defaults.ROOT_QUEUE}:
            yield Problem(
                "queue.name",
                name,
                "the name belongs to a queue of the environment or of Volcano",
                f"write `queue: {name}` to use it, or choose another name",
            )
        return
    if environment.admission == defaults.KUEUE:
        return  # LocalQueues are the namespace's own; the live cluster is asked for it
    yield from unknown("queue", name, Known({**environment.queues, defaults.QUEUE: None}), "queue")
    children = queues.children.get(name)
    if children is not None:
        yield Problem(
            "queue",
            name,
            "the queue has queues below it, and Volcano takes jobs into leaves only",
            f"known: {list_names(children)}",
        )


def _queue_problems(path: str, request: QueueRequest, queues: _Queues) -> Iterator[Problem]:
    """guarantee <= deserved <= capability for each resource; one that a larger amount leaves out counts as 0 there."""
    environment = queues.environment
    for field in AMOUNTS:
        given: dict[str, str] = getattr(request, field)
        yield from amount_problems(f"{path}.{field}", given)
        for key in given:
            if key not in environment.accelerators and not matches(RESOURCE, key):
                yield from unknown(f"{path}.{field}.{key}", key, queues.kinds, "kind of accelerator")
    for smaller, larger, reason in WITHIN:
        most = _amounts(request, larger, environment)
        if larger == "capability" and not most:
            continue  # no capability at all: no limit
        for key, quantity in getattr(request, smaller).items():
            if amount(quantity) > most.get(resource_name(key, environment), Decimal(-1)):
                yield Problem(
                    f"{path}.{smaller}.{key}", quantity, reason, f"write `{larger}: {{{key}: {quantity}}}` or more"
                )


def _parent_problems(path: str, request: QueueRequest, circling: bool, queues: _Queues) -> Iterator[Problem]:
    """`circling`: the queue is above its own parent."""
    environment = queues.environment
    if request.parent == defaults.ROOT_QUEUE:
        return
    if request.parent not in environment.queues:
        yield from unknown(f"{path}.parent", request.parent, queues.parents, "queue")
        return
    if circling:
        yield Problem(
            f"{path}.parent",
            request.parent,
            "the parent makes the queue its own ancestor",
            f"write {defaults.ROOT_QUEUE}, or leave it out",
        )
        return
    most = queues.capabilities[request.parent]
    for key, quantity in request.capability.items():
        if amount(quantity) > most.get(resource_name(key, environment), Decimal(0)):
            yield Problem(
                f"{path}.capability.{key}", quantity,
                f"the amount is more than the capability of the parent {request.parent}",
                f"write less, or raise queues.{request.parent}.capability"
            )  # fmt: skip


def _children_problems(
    path: str, request: QueueRequest, children: Sequence[QueueRequest], environment: Environment
) -> Iterator[Problem]:
    """What children are promised together must fit into what the parent is promised, else into its capability."""
    for field in ("deserved", "guarantee"):
        limit = _amounts(request, field, environment)
        most = limit if limit else _amounts(request, "capability", environment)
        if not most:
            continue
        together: dict[str, Decimal] = {}
        for child in children:
            for resource, value in _amounts(child, field, environment).items():
                together[resource] = together.get(resource, Decimal(0)) + value
        for resource, value in together.items():
            if value > most.get(resource, Decimal(-1)):
                yield Problem(
                    path,
                    None,
                    f"the queue has children that together have more {field} {resource} ({value:f}) than itself",
                    f"raise its {field}, or lower theirs",
                )


def _amounts(request: QueueRequest, field: str, environment: Environment) -> dict[str, Decimal]:
    return {resource_name(key, environment): amount(quantity) for key, quantity in getattr(request, field).items()}


def _line(name: str, environment: Environment) -> dict[str, None]:
    """The queue and those above it, as far as the environment knows them."""
    line: dict[str, None] = {}
    while name in environment.queues and name not in line:
        line[name] = None
        name = environment.queues[name].parent
    return line
