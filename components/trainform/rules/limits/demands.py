"""Which accelerators the pods ask for, and on which nodes they land."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment


@dataclasses.dataclass(frozen=True)
class Demand:
    """How many accelerators of one kind each pod of a role asks for; `spread`: its pods cannot share a node."""

    role: str
    kind: str
    each: int
    replicas: int
    min_available: int
    spread: bool

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
    ports = (port for _, container in template.containers() for port in mappings(container.get("ports")))
    spread = any(port.get("hostPort") for port in ports)
    for resource in sorted(template.resources() & kinds.keys(), key=lambda resource: kinds[resource].place):
        each = template.pod_request(resource)
        if each:
            kind = kinds[resource].of(template)
            replicas = kinds[resource].environment.accelerators[kind].nodes if template.each_node else template.replicas
            yield Demand(template.role, kind, math.ceil(each), replicas, template.min_available, spread)


@dataclasses.dataclass(frozen=True)
class _Kinds:
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
        """The kind of pods that select none: one without a selector, or else the one whose nodes have most."""
        open_ones = [name for name in sorted(self.names) if not self._selector(name)]
        kinds = self.environment.accelerators
        return open_ones[0] if open_ones else max(self.names, key=lambda name: kinds[name].per_node)

    def _selector(self, name: str) -> Mapping[str, str]:
        return self.environment.accelerators[name].node_selector

    def of(self, template: Template) -> str:
        """The kind whose nodes the pods select, by most labels; without one they may land on any of them."""
        selected = mapping(template.spec.get("nodeSelector"))
        labels = ((key, value) for key, value in selected.items() if isinstance(value, str))
        possible = [name for label in labels for name in self._by_label.get(label, ())]
        chosen = [name for name in possible if selects(selected, self._selector(name))]
        return max(chosen, key=lambda name: len(self._selector(name)), default=self._anywhere)


def selects(selected: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Whether a node selector asks for all of these labels."""
    return all(selected.get(key) == value for key, value in labels.items())
