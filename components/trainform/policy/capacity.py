"""What the nodes of the environment, its limit and the queue can hold, against what is rendered."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

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
    for role, template in _pairs(plan, templates):
        for demand in _demands(role, template, environment):
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
    demands = [demand for pair in _pairs(plan, templates) for demand in _demands(*pair, environment)]
    limit = environment.limits.max_accelerators
    asked = sum(demand.each * demand.replicas for demand in demands)
    if limit is not None and asked > limit:
        yield Problem(
            "roles",
            None,
            f"ask for {asked} accelerators together; the environment allows {limit}",
            "ask for fewer replicas or accelerators",
        )
    for kind in dict.fromkeys(demand.kind for demand in demands):
        of_kind = [demand for demand in demands if demand.kind == kind]
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
    roles = {role.name: role for role in plan.roles}
    return ((roles[template.role], template) for template in templates)


def _demands(role: RolePlan, template: Template, environment: Environment) -> Iterator[Demand]:
    spread = any(port.get("hostPort") for _, container in template.containers() for port in container.get("ports", []))
    kinds = environment.accelerators
    for resource in dict.fromkeys(kind.resource for kind in kinds.values()):
        each = template.asks(resource)
        if each:
            names = [name for name, kind in kinds.items() if kind.resource == resource]
            own = [name for name in names if role.accelerators is not None and role.accelerators[0] == name]
            # two kinds may share a resource; a patch that asks for it without a kind may land on either
            name = own[0] if own else max(names, key=lambda name: kinds[name].per_node)
            yield Demand(role.name, name, math.ceil(each), template.replicas, template.min_available, spread)


def _gang(demands: list[Demand]) -> int:
    return sum(demand.each * demand.min_available for demand in demands)


def _gang_nodes(demands: list[Demand], per_node: int) -> int:
    """Fewest nodes that hold the gang's pods of one kind: pods of a role share a node as far as its accelerators go."""

    def nodes(demand: Demand) -> int:
        return math.ceil(demand.min_available / (1 if demand.spread else max(1, per_node // demand.each)))

    whole = [demand for demand in demands if demand.each * 2 > per_node]
    return max(sum(nodes(demand) for demand in whole), max((nodes(demand) for demand in demands), default=0))
