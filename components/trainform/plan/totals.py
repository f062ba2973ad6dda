"""Sums over all pods."""

from __future__ import annotations

from decimal import Decimal

from trainform.plan.model import RolePlan, Totals
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount, spell


def total(roles: tuple[RolePlan, ...], environment: Environment) -> Totals:
    """What the whole job takes; cost only where every kind in use has a price in one currency."""
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
        cost_per_hour=_cost(accelerators, environment),
    )


def _sum(roles: tuple[RolePlan, ...], resource: str) -> str:
    asked = [(role.resources.get(resource), role.replicas) for role in roles if role.replicas]
    known = [(quantity, replicas) for quantity, replicas in asked if quantity is not None]
    if len(known) < len(asked):
        return ""
    value = sum((amount(quantity) * replicas for quantity, replicas in known), Decimal(0))
    return spell(value, binary=any(quantity.endswith("i") for quantity, _ in known))


def _cost(accelerators: dict[str, int], environment: Environment) -> str:
    prices = [
        (environment.accelerators[kind].price_per_hour, count)
        for kind, count in accelerators.items()
        if count and kind in environment.accelerators
    ]
    known = [(price, count) for price, count in prices if price is not None]
    if not known or len(known) < len(prices) or len({price.currency for price, _ in known}) > 1:
        return ""
    hourly = sum(Decimal(str(price.amount)) * count for price, count in known)
    oldest = min(price.as_of for price, _ in known)
    return f"{hourly:.2f} {known[0][0].currency} (prices of {oldest})"
