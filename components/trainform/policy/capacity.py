"""What the nodes of the environment, its limit and the queue can hold, against what is rendered."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping

from trainform.errors import Problem
from trainform.plan.model import Plan, RolePlan
from trainform.policy.templates import Template
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount


@dataclasses.dataclass(frozen=True)
class Demand:
    """How many accelerators of one kind each pod of a role asks for; `spread`: its pods cannot share a node."""

    role: str
    kind: str
    each: int
    replicas: int
    min_available: int
    spread: bool


def per_node(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    """Pods that no node can hold."""
    kinds = _kinds_by_resource(environment)
    for role, template in _pairs(plan, templates):
        for demand in _demands(role, template, kinds):
            node = environment.accelerators[demand.kind]
            if demand.each > node.per_node:
                planned = role.accelerators == (demand.kind, demand.each)
                yield Problem(
                    f"roles.{role.name}.accelerators.{demand.kind}" if planned else template.path,
                    demand.each,
                    f"is more than a node has ({node.per_node} {demand.kind})",
                    f"ask for at most {node.per_node} on each pod and for more replicas",
                )
            for resource, most in (("cpu", node.cpu), ("memory", node.memory)):
                asked = template.asks(resource)
                if asked > amount(most):
                    written = role.resources.get(resource)
                    planned = written is not None and amount(written) == asked
                    yield Problem(
                        f"roles.{role.name}.{resource}" if planned else template.path,
                        written if planned else f"{asked:f}",
                        f"is more than a node with {demand.kind} has ({most})"
                        if planned
                        else f"is more {resource} than a node with {demand.kind} has ({most})",
                        f"ask for {most} or less",
                    )


def capacity(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    """More than the environment allows or has, over all pods and over those that start together."""
    kinds = _kinds_by_resource(environment)
    demands = [demand for pair in _pairs(plan, templates) for demand in _demands(*pair, kinds)]
    limit = environment.limits.max_accelerators
    asked = sum(demand.each * demand.replicas for demand in demands)
    if limit is not None and asked > limit:
        yield Problem(
            "roles",
            None,
            f"ask for {asked} accelerators together; the environment allows {limit}",
            "ask for fewer replicas or accelerators",
        )
    by_kind: dict[str, list[Demand]] = {}
    for demand in demands:
        by_kind.setdefault(demand.kind, []).append(demand)
    for kind, of_kind in by_kind.items():
        yield from _nodes(kind, of_kind, environment)
        yield from _queue(plan, kind, of_kind, environment)


def _nodes(kind: str, demands: list[Demand], environment: Environment) -> Iterator[Problem]:
    node = environment.accelerators[kind]
    held = node.nodes * node.per_node
    needed = _gang_nodes(demands, node.per_node)
    gang, total = _gang(demands), sum(demand.each * demand.replicas for demand in demands)
    if any(demand.each > node.per_node for demand in demands):
        return  # told by `per_node`
    if needed > node.nodes:
        yield Problem(
            "roles",
            None,
            f"need {needed} nodes with {kind} at once; the environment has {node.nodes}",
            "ask for fewer replicas, or set min_available",
        )
    elif gang > held:
        yield Problem(
            "roles",
            None,
            f"need {gang} {kind} at once; the environment has {held}",
            "ask for fewer replicas, or set min_available",
        )
    elif environment.limits.max_accelerators is None and total > held:
        yield Problem(
            "roles",
            None,
            f"ask for {total} {kind} together; the environment has {held}",
            "ask for fewer replicas or accelerators",
        )


def _queue(plan: Plan, kind: str, demands: list[Demand], environment: Environment) -> Iterator[Problem]:
    queue = environment.queues.get(plan.queue.name) if plan.queue.request is None else plan.queue.request
    capability = {} if queue is None else queue.capability
    most = capability.get(kind, capability.get(environment.accelerators[kind].resource))
    if most is not None and _gang(demands) > amount(most):
        yield Problem(
            "queue",
            plan.queue.name,
            f"has a capability of {most} {kind}, and the gang needs {_gang(demands)} at once",
            "use another queue, or ask for less",
        )


def _pairs(plan: Plan, templates: list[Template]) -> Iterator[tuple[RolePlan, Template]]:
    """Each role with its pods: a merge patch that changes the list of roles is refused before."""
    return ((plan.by_name[template.role], template) for template in templates)


@dataclasses.dataclass(frozen=True)
class _Kinds:
    """The kinds of accelerators that share a resource. place: of the first one among all kinds. largest: that whose nodes have most of it."""

    place: int
    names: frozenset[str]
    largest: str


def _kinds_by_resource(environment: Environment) -> dict[str, _Kinds]:
    names: dict[str, list[str]] = {}
    for name, kind in environment.accelerators.items():
        names.setdefault(kind.resource, []).append(name)
    return {
        resource: _Kinds(place, frozenset(own), max(own, key=lambda name: environment.accelerators[name].per_node))
        for place, (resource, own) in enumerate(names.items())
    }


def _demands(role: RolePlan, template: Template, kinds: Mapping[str, _Kinds]) -> Iterator[Demand]:
    spread = any(port.get("hostPort") for _, container in template.containers() for port in container.get("ports", []))
    for resource in sorted(template.resources() & kinds.keys(), key=lambda resource: kinds[resource].place):
        each = template.asks(resource)
        if each:
            own = None if role.accelerators is None else role.accelerators[0]
            # two kinds may share a resource; a patch that asks for it without a kind may land on either
            name = own if own is not None and own in kinds[resource].names else kinds[resource].largest
            yield Demand(role.name, name, math.ceil(each), template.replicas, template.min_available, spread)


def _gang(demands: list[Demand]) -> int:
    return sum(demand.each * demand.min_available for demand in demands)


def _gang_nodes(demands: list[Demand], per_node: int) -> int:
    """Fewest nodes that hold the gang's pods of one kind: pods of a role share a node as far as its accelerators go."""

    def nodes(demand: Demand) -> int:
        return math.ceil(demand.min_available / (1 if demand.spread else max(1, per_node // demand.each)))

    whole = [demand for demand in demands if demand.each * 2 > per_node]
    return max(sum(nodes(demand) for demand in whole), max((nodes(demand) for demand in demands), default=0))
