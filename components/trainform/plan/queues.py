"""Queues: amounts that Volcano's webhook compares, and the tree that they form."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.plan.amounts import amount_problems
from trainform.plan.build import resource_name
from trainform.plan.model import Plan
from trainform.plan.references import unknown
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import RESOURCE, matches
from trainform.spec.quantities import amount
from trainform.spec.queues import QueueRequest

AMOUNTS = ("capability", "deserved", "guarantee")


def environment_queue_problems(environment: Environment) -> Iterator[Problem]:
    """Every queue by itself, and sums over the children of each."""
    for name, request in environment.queues.items():
        path = f"queues.{name}"
        yield from queue_problems(path, request, environment)
        yield from _parent_problems(path, name, request, environment)
        children = [child for child in environment.queues.values() if child.parent == name]
        yield from _children_problems(path, request, children, environment)
    if environment.admission == defaults.KUEUE and environment.queues:
        yield Problem(
            "queues", None, "are Volcano's, and the environment admits by Kueue", "remove them, or `admission: kueue`"
        )
    if defaults.ROOT_QUEUE in environment.queues:
        yield Problem(
            f"queues.{defaults.ROOT_QUEUE}", None, "is Volcano's own and cannot be changed", "choose another name"
        )


def job_queue_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """The queue that an experiment names or brings along."""
    name, request = plan.queue.name, plan.queue.request
    if request is not None:
        yield from queue_problems("queue", request, environment)
        yield from _parent_problems("queue", name, request, environment)
        parent = environment.queues.get(request.parent)
        if parent is not None and (request.deserved or request.guarantee):
            siblings = [queue for queue in environment.queues.values() if queue.parent == request.parent]
            yield from _children_problems("queue.parent", parent, [*siblings, request], environment)
        if name in {*environment.queues, defaults.QUEUE, defaults.ROOT_QUEUE}:
            yield Problem(
                "queue.name",
                name,
                "belongs to the environment or to Volcano",
                f"write `queue: {name}` to use it, or choose another name",
            )
        return
    if environment.admission == defaults.KUEUE:
        return  # LocalQueues are the namespace's own; the live cluster is asked for it
    yield from unknown("queue", name, {**environment.queues, defaults.QUEUE: None}, "queue")
    children = [child for child, below in environment.queues.items() if below.parent == name]
    if children:
        yield Problem(
            "queue",
            name,
            "has queues below it, and Volcano takes jobs into leaves only",
            f"known: {', '.join(children)}",
        )


def queue_problems(path: str, request: QueueRequest, environment: Environment) -> Iterator[Problem]:
    """guarantee <= deserved <= capability for each resource; one that a larger amount leaves out counts as 0 there."""
    for field in AMOUNTS:
        given: dict[str, str] = getattr(request, field)
        yield from amount_problems(f"{path}.{field}", given)
        spelled: dict[str, str] = {}
        for key in given:
            if key not in environment.accelerators and not matches(RESOURCE, key):
                yield from unknown(f"{path}.{field}.{key}", key, environment.accelerators, "kind of accelerator")
            resource = resource_name(key, environment)
            if resource in spelled:
                yield Problem(
                    f"{path}.{field}.{key}", given[key], f"is {spelled[resource]} by another name", "keep one"
                )
            spelled[resource] = key
    for smaller, larger, reason in (
        ("guarantee", "deserved", "is more than the queue deserves"),
        ("deserved", "capability", "is more than the queue's capability"),
    ):
        most = _amounts(request, larger, environment)
        if larger == "capability" and not most:
            continue  # no capability at all: no limit
        for key, quantity in getattr(request, smaller).items():
            if amount(quantity) > most.get(resource_name(key, environment), Decimal(-1)):
                yield Problem(
                    f"{path}.{smaller}.{key}", quantity, reason, f"write `{larger}: {{{key}: {quantity}}}` or more"
                )


def _parent_problems(path: str, name: str, request: QueueRequest, environment: Environment) -> Iterator[Problem]:
    if request.parent == defaults.ROOT_QUEUE:
        return
    if request.parent not in environment.queues:
        yield from unknown(f"{path}.parent", request.parent, {defaults.ROOT_QUEUE: None, **environment.queues}, "queue")
        return
    if name in _line(request.parent, environment):
        yield Problem(
            f"{path}.parent",
            request.parent,
            "makes the queue its own ancestor",
            f"write {defaults.ROOT_QUEUE}, or leave it out",
        )
        return
    most = _amounts(environment.queues[request.parent], "capability", environment)
    for key, quantity in request.capability.items():
        if amount(quantity) > most.get(resource_name(key, environment), Decimal(0)):
            yield Problem(
                f"{path}.capability.{key}", quantity, f"is more than the capability of its parent {request.parent}", f"write less, or raise queues.{request.parent}.capability"
            )  # fmt: skip


def _children_problems(
    path: str, request: QueueRequest, children: list[QueueRequest], environment: Environment
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
                    path, None, f"has children that together have more {field} {resource} ({value:f}) than itself", f"raise its {field}, or lower theirs"
                )  # fmt: skip


def _amounts(request: QueueRequest, field: str, environment: Environment) -> dict[str, Decimal]:
    return {resource_name(key, environment): amount(quantity) for key, quantity in getattr(request, field).items()}


def _line(name: str, environment: Environment) -> list[str]:
    """The queue and those above it, as far as the environment knows them."""
    line: list[str] = []
    while name in environment.queues and name not in line:
        line.append(name)
        name = environment.queues[name].parent
    return line
