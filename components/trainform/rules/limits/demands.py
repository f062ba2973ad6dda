"""Which accelerators the pods ask for, and on which nodes they land."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment

STEERING = ("nodeAffinity", "podAffinity")
"""The parts of an affinity that lead pods to some nodes."""


class Demand(Struct, frozen=True):
    """How many accelerators of one kind each pod of a role asks for. node_ports: the ports of its node that it takes, which no other pod there may have."""

    role: str
    kind: str
    each: int
    replicas: int
    min_available: int
    node_ports: frozenset[str]

    @property
    def total(self) -> int:
        """The number for all pods together."""
        return self.each * self.replicas


def demands(judged: Judged, environment: Environment) -> list[Demand]:
    """What the pods of all templates ask for."""
    return [demand for _, asked in with_demands(judged, environment) for demand in asked]


def by_kind(judged: Judged, environment: Environment) -> dict[str, list[Demand]]:
    """The demands by kind of accelerator."""
    found: dict[str, list[Demand]] = {}
    for demand in demands(judged, environment):
        found.setdefault(demand.kind, []).append(demand)
    return found


def with_demands(judged: Judged, environment: Environment) -> Iterator[tuple[Template, list[Demand]]]:
    """Each template with what each of its pods asks for, in the order of the environment's kinds."""
    names: dict[str, list[str]] = {}
    for name, kind in environment.accelerators.items():
        names.setdefault(kind.resource, []).append(name)
    kinds = {resource: _Kinds(place, own, environment) for place, (resource, own) in enumerate(names.items())}
    for template in judged.templates:
        yield template, [*_demands_of(template, kinds)]


def _demands_of(template: Template, kinds: Mapping[str, _Kinds]) -> Iterator[Demand]:
    ports = template.node_ports()
    for resource in sorted(template.resources() & kinds.keys(), key=lambda resource: kinds[resource].place):
        each = template.pod_request(resource)
        if each:
            kind = kinds[resource].of(template)
            yield Demand(template.role, kind, math.ceil(each), template.replicas, template.min_available, ports)


class _Kinds(Struct, frozen=True, dict=True):
    """The kinds of accelerators that share a resource. place: of the first one among all resources."""

    place: int
    names: list[str]
    environment: Environment

    @functools.cached_property
    def _by_label(self) -> dict[tuple[str, str], list[str]]:
        """The kinds with a node selector, by the first label of it."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in sorted(self.names):
            for label in itertools.islice(self._selector(name).items(), 1):
                found.setdefault(label, []).append(name)
        return found

    @functools.cached_property
    def _anywhere(self) -> str:
        """The kind of pods that choose no nodes: one without a selector, or else the dearest."""
        return next((name for name in sorted(self.names) if not self._selector(name)), self._dearest(self.names))

    def _selector(self, name: str) -> Mapping[str, str]:
        return self.environment.accelerators[name].node_selector

    def _dearest(self, names: Iterable[str]) -> str:
        """The kind with the highest price, or without a known one; of several the one whose nodes have most."""

        def cost(name: str) -> tuple[bool, float, int]:
            kind = self.environment.accelerators[name]
            price = kind.price_per_hour
            return price is None, 0 if price is None else price.amount, kind.per_node or 0

        return max(names, key=cost)

    def of(self, template: Template) -> str:
        """The kind whose nodes the pods select, by most labels. Pods that choose nodes in another way, such as by an affinity, count as the
        dearest kind."""
        selected = mapping(template.spec.get("nodeSelector"))
        labels = [(key, value) for key, value in selected.items() if isinstance(value, str)]
        possible = [name for label in labels for name in self._by_label.get(label, ())]
        named = [name for name in possible if selects(selected, self._selector(name))]
        if named:
            return max(named, key=lambda name: len(self._selector(name)))
        own_labels = {*labels} - {*self.environment.node_selector.items()}
        steered = any(mapping(template.spec.get("affinity")).get(part) for part in STEERING)
        return self._dearest(self.names) if own_labels or steered else self._anywhere


def selects(selected: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Whether a node selector asks for all of these labels."""
    return all(selected.get(key) == value for key, value in labels.items())
