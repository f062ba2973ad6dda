"""Sums over all pods."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from trainform.plan.model import RolePlan
from trainform.plan.sums import HourlyCost, Totals
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount, spell


def total(roles: tuple[RolePlan, ...], environment: Environment) -> Totals:
    """Return the pods, accelerators, CPU, memory and cost of the whole job."""
    accelerators: dict[str, int] = {}
    for role in roles:
        if role.accelerators is not None:
            kind, count = role.accelerators
            accelerators[kind] = accelerators.get(kind, 0) + count * role.replicas
    return Totals(
        pods=sum(role.replicas for role in roles),
        accelerators=accelerators,
        cpu=_sum(roles, "cpu"),
        memory=_sum(roles, "memory"),
        cost_per_hour=hourly_cost(accelerators, environment),
    )


def _sum(roles: tuple[RolePlan, ...], resource: str) -> str:
    requests = [(role.resources.get(resource), role.replicas) for role in roles if role.replicas]
    known = [(quantity, replicas) for quantity, replicas in requests if quantity is not None]
    if len(known) < len(requests):
        return ""
    value = sum((amount(quantity) * replicas for quantity, replicas in known), Decimal(0))
    return spell(value, binary=any(quantity.endswith("i") for quantity, _ in known))


def hourly_cost(accelerators: Mapping[str, int], environment: Environment) -> HourlyCost | None:
    """Return the hourly cost of these numbers of accelerators by kind. None if it is unknown: no accelerator is in use,
    a kind has no price, or the prices are in several currencies."""
    prices = [
        (environment.accelerators[kind].price_per_hour, count)
        for kind, count in accelerators.items()
        if count and kind in environment.accelerators
    ]
    known = [(price, count) for price, count in prices if price is not None]
    if not known or len(known) < len(prices) or len({price.currency for price, _ in known}) > 1:
        return None
    hourly = sum((Decimal(str(price.amount)) * count for price, count in known), Decimal(0))
    return HourlyCost(hourly, known[0][0].currency, min(price.as_of for price, _ in known))
