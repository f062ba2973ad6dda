"""Capacity and cost of rendered objects, compared with nodes, limits and queues of the environment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

from trainform.errors import list_names
from trainform.plan.costs import hourly_cost
from trainform.rules.limits.resources import Demand, by_kind, demands, readable, with_demands
from trainform.rules.limits.rule import Finding, Judged
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount, spell


def per_node(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that no node can hold, and amounts that cannot be read."""
    yield from readable(judged)
    for template, asked_for in with_demands(judged, environment):
        for demand in asked_for:
            node = environment.accelerators[demand.kind]
            if node.per_node is None:
                continue
            if demand.each > node.per_node:
                reason = f"the number is more than a node has ({node.per_node} {demand.kind})"
                fix = f"ask for at most {node.per_node} on each pod and for more replicas"
                yield Finding(f"accelerators.{demand.kind}", demand.each, reason, fix, template)
            for resource, most in (("cpu", node.cpu), ("memory", node.memory)):
                asked = template.pod_request(resource)
                if asked > amount(most):
                    reason = f"the amount is more {resource} than a node with {demand.kind} has ({most})"
                    fix = f"ask for {most} or less"
                    yield Finding(resource, spell(asked, binary=most.endswith("i")), reason, fix, template)


def accelerators(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding if all pods together request more accelerators than the environment allows."""
    limit = environment.limits.max_accelerators
    asked = sum(demand.total for demand in demands(judged, environment))
    if limit is not None and asked > limit:
        yield _all_roles(f"the pods ask for {asked} accelerators together; the environment allows {limit}", FEWER)


def nodes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield kinds whose nodes cannot hold the pods that start together or, without a limit, all pods."""
    for kind, of_kind in by_kind(judged, environment).items():
        node = environment.accelerators[kind]
        if node.per_node is None or node.nodes is None:
            continue
        held = node.nodes * node.per_node
        needed = _gang_nodes(of_kind, node.per_node)
        port, pods = _most_taken(of_kind)
        since = f", since {pods} of them take the port {port} of their node" if pods > needed else ""
        needed = max(needed, pods)
        gang, total = _gang(of_kind), sum(demand.total for demand in of_kind)
        if any(demand.each > node.per_node for demand in of_kind):
            continue  # `per_node` reports it
        if needed > node.nodes:
            reason = f"the pods need {needed} nodes with {kind} at once{since}; the environment has {node.nodes}"
            yield _all_roles(reason, FEWER_WITH_THE_PORT if since else FEWER_AT_ONCE)
        elif gang > held:
            yield _all_roles(f"the pods need {gang} {kind} at once; the environment has {held}", FEWER_AT_ONCE)
        elif environment.limits.max_accelerators is None and total > held:
            yield _all_roles(f"the pods ask for {total} {kind} together; the environment has {held}", FEWER)


def queue(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding for each kind of which the gang needs more than the capability of its queue."""
    listed = None if judged.queue is None else environment.queues.get(judged.queue)
    request = judged.own_queue if judged.own_queue is not None else listed
    capability = {} if request is None else request.capability
    for kind, of_kind in by_kind(judged, environment).items():
        most = capability.get(kind, capability.get(environment.accelerators[kind].resource))
        if most is not None and _gang(of_kind) > amount(most):
            reason = f"the queue has a capability of {most} {kind}, and the gang needs {_gang(of_kind)} at once"
            bound = [judged.queue, reason]
            fix = "use another queue, or ask for less"
            yield Finding("queue", judged.queue, reason, fix, bound=bound)


FEWER = "ask for fewer replicas or accelerators"
FEWER_AT_ONCE = "ask for fewer replicas, or set min_available"
FEWER_WITH_THE_PORT = f"{FEWER_AT_ONCE}, or let fewer pods take the port"


def _all_roles(reason: str, fix: str) -> Finding:
    return Finding("roles", None, reason, fix)


def _gang(demands: list[Demand]) -> int:
    return sum(demand.each * demand.min_available for demand in demands)


def _gang_nodes(demands: list[Demand], per_node: int) -> int:
    """Return the fewest nodes that hold the gang's pods of one kind. Pods of a role share nodes; roles do not."""

    def nodes(demand: Demand) -> int:
        return math.ceil(demand.min_available / max(1, per_node // demand.each))

    whole = [demand for demand in demands if demand.each * 2 > per_node]
    return max(sum(nodes(demand) for demand in whole), max((nodes(demand) for demand in demands), default=0))


def _most_taken(demands: list[Demand]) -> tuple[str, int]:
    """Return the host port that most of the gang's pods use, and their number: each needs its own node."""
    taken: Counter[str] = Counter()
    for demand in demands:
        taken.update(dict.fromkeys(demand.node_ports, demand.min_available))
    return max(sorted(taken.items()), key=lambda item: item[1], default=("", 0))


def per_hour(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding if the job costs more than the environment allows, or if its cost is unknown."""
    limit = environment.limits.max_cost_per_hour
    counts = {kind: sum(each.total for each in of_kind) for kind, of_kind in by_kind(judged, environment).items()}
    if limit is None or not any(counts.values()):
        return
    allowed = f"{Decimal(str(limit.amount)):.2f} {limit.currency}"
    cost = hourly_cost(counts, environment)
    if cost is None:
        reason = f"the cost per hour is not known ({_gap(counts, environment)}), and the environment allows {allowed}"
        yield _all_roles(reason, "ask the platform team for `price_per_hour` of every accelerator")
    elif cost.currency != limit.currency:
        reason = f"the cost per hour is known in {cost.currency}, and the environment's limit is in {limit.currency}"
        yield _all_roles(reason, "ask the platform team for prices and limit in one currency")
    elif cost.amount > Decimal(str(limit.amount)):
        reason = f"the pods cost {cost.dated} an hour together; the environment allows {allowed}"
        yield _all_roles(reason, FEWER)


def _gap(counts: Mapping[str, int], environment: Environment) -> str:
    """Return the reason why the cost is unknown."""
    prices = {kind: environment.accelerators[kind].price_per_hour for kind, count in counts.items() if count}
    missing = [kind for kind, price in prices.items() if price is None]
    return f"no price of {list_names(missing)}" if missing else "prices in several currencies"
