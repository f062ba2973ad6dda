"""Amounts of resources by name, as numbers and as quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_UP, Decimal
from typing import Any

from trainform.manifests.manifest import mapping, quantity
from trainform.spec.environment import Environment
from trainform.spec.quantities import MILLI, spell

Amounts = dict[str, Decimal]
NOTHING = Decimal(0)
BINARY = frozenset({"memory", "ephemeral-storage"})
POD_SLOTS = "pods"
"""Every pod takes one of this resource of a node."""


def amounts_of(quantities: Any) -> Amounts:
    """Return the amounts by resource, without values that are not quantities."""
    read = {str(name): quantity(value) for name, value in mapping(quantities).items()}
    return {name: value for name, value in read.items() if value is not None}


def summed(amounts: Iterable[Mapping[str, Decimal]]) -> Amounts:
    """Return the sum of the amounts by resource."""
    total: Amounts = {}
    for each in amounts:
        for name, value in each.items():
            total[name] = total.get(name, NOTHING) + value
    return total


def without(amounts: Mapping[str, Decimal], taken: Mapping[str, Decimal]) -> Amounts:
    """Return the amounts less `taken`, negative where more is taken than exists."""
    return {**amounts} | {name: amounts.get(name, NOTHING) - value for name, value in taken.items()}


def spelled(resource: str, value: Decimal) -> str:
    """Return the amount as a quantity, rounded up to a thousandth. A number of pods is a plain integer."""
    if resource == POD_SLOTS and value == value.to_integral_value():
        return str(int(value))
    return spell(value.quantize(MILLI, ROUND_UP), binary=resource.rpartition(".")[2] in BINARY)


def all_spelled(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    """Return the amounts as quantities, sorted by resource, without zeros."""
    return {name: spelled(name, value) for name, value in sorted(amounts.items()) if value}


def resource_names(environment: Environment | None) -> dict[str, str]:
    """Return the accelerator kind of each resource that belongs to one kind only: `baidu.com/a800_80g_cgpu` is a800."""
    kinds = {} if environment is None else environment.accelerators
    resources = [kind.resource for kind in kinds.values()]
    return {kind.resource: name for name, kind in kinds.items() if resources.count(kind.resource) == 1}
