"""Accelerators that the pods request, and the kinds of nodes on which they land."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Accelerator, Environment

STEERING = ("nodeAffinity", "podAffinity")
"""The parts of an affinity that restrict the nodes of pods."""


class Demand(Struct, frozen=True):
    """The accelerators of one kind that each pod of a role requests."""

    role: str
    kind: str
    each: int
    replicas: int
    min_available: int
    node_ports: frozenset[str]  # host ports, which no other pod of the node may have

    @property
    def total(self) -> int:
        """Return the number for all pods together."""
        return self.each * self.replicas


def demands(judged: Judged, environment: Environment) -> list[Demand]:
    """Return the demands of the pods of all templates."""
    return [demand for _, asked in with_demands(judged, environment) for demand in asked]


def by_kind(judged: Judged, environment: Environment) -> dict[str, list[Demand]]:
    """Return the demands by kind of accelerator."""
    found: dict[str, list[Demand]] = {}
    for demand in demands(judged, environment):
        found.setdefault(demand.kind, []).append(demand)
    return found


def with_demands(judged: Judged, environment: Environment) -> Iterator[tuple[Template, list[Demand]]]:
    """Yield each template with the demands of its pods, in the order of the environment's kinds."""
    kinds: dict[str, list[str]] = {}
    for name, kind in environment.accelerators.items():
        kinds.setdefault(kind.resource, []).append(name)
    for template in judged.templates:
        yield template, [*_demands_of(template, kinds, environment)]


def _demands_of(template: Template, kinds: Mapping[str, list[str]], environment: Environment) -> Iterator[Demand]:
    asked = template.resources
    for resource, names in kinds.items():
        each = template.pod_request(resource) if resource in asked else 0
        if each:
            kind, ports = _kind_of(template, sorted(names), environment), template.node_ports()
            yield Demand(template.role, kind, math.ceil(each), template.replicas, template.min_available, ports)


def _kind_of(template: Template, names: Sequence[str], environment: Environment) -> str:
    """Return the kind whose nodes the pods select by most labels, among the kinds of one resource. Pods that choose
    nodes in another way, such as by an affinity, count as the most expensive kind."""
    selectors = {name: environment.accelerators[name].node_selector for name in names}
    selected = mapping(template.spec.get("nodeSelector"))
    named = [name for name in names if selectors[name] and selects(selected, selectors[name])]
    if named:
        return max(named, key=lambda name: len(selectors[name]))
    own_labels = any(environment.node_selector.get(key) != value for key, value in selected.items())
    steered = any(mapping(template.spec.get("affinity")).get(part) for part in STEERING)
    anywhere = [] if own_labels or steered else [name for name in names if not selectors[name]]
    return anywhere[0] if anywhere else max(names, key=lambda name: _cost(environment.accelerators[name]))


def _cost(kind: Accelerator) -> tuple[bool, float, int]:
    """Return a key to compare costs: an unknown price is the highest, then the nodes with most accelerators."""
    price = kind.price_per_hour
    return price is None, 0 if price is None else price.amount, kind.per_node or 0


def selects(selected: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Return True if a node selector has all of these labels."""
    return all(selected.get(key) == value for key, value in labels.items())
