"""Names that one file uses and the other defines: accelerator kinds, storage classes, roles. Queues have rules of their
own."""

from __future__ import annotations

import bisect
import difflib
import functools
from collections.abc import Collection, Iterator

from msgspec import Struct

from trainform.errors import Problem, list_names
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

NEIGHBOURS = 8


class Known(Struct, frozen=True, dict=True):
    """Names that a file defines, to tell the nearest to one that it does not define.

    A typing mistake leaves most of a name's beginning or of its end, so a near name stands beside it among the names in
    order, or among the reversed names in order. Only those are compared: a comparison is slow, and every name may be
    wrong.
    """

    names: Collection[str]

    @functools.cached_property
    def _ordered(self) -> list[str]:
        return sorted(self.names)

    @functools.cached_property
    def _reversed(self) -> list[str]:
        return sorted(name[::-1] for name in self.names)

    def nearest(self, name: str) -> str | None:
        """The name that was meant; None where none is near."""
        beside = [*_beside(name, self._ordered), *(other[::-1] for other in _beside(name[::-1], self._reversed))]
        return next(iter(difflib.get_close_matches(name, dict.fromkeys(beside), 1)), None)


def _beside(name: str, ordered: list[str]) -> list[str]:
    place = bisect.bisect(ordered, name)
    return ordered[max(place - NEIGHBOURS, 0) : place + NEIGHBOURS]


def reference_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Accelerators and storage classes that the environment does not have."""
    kinds, classes = Known(environment.accelerators), Known(environment.storage_classes)
    fields = {"cpu": "cpu", "memory": "memory"}
    fields |= {offered.resource: f"accelerators.{kind}" for kind, offered in environment.accelerators.items()}
    if environment.rdma is not None and not experiment.network.rdma:  # with it, a role may have another number
        fields[environment.rdma.resource] = "network.rdma"
    for name, role in experiment.roles.items():
        for kind in role.accelerators:
            yield from unknown(f"roles.{name}.accelerators.{kind}", kind, kinds, "kind of accelerator")
        for resource, quantity in role.resources.items():
            if resource in fields:
                yield Problem(
                    f"roles.{name}.resources.{resource}",
                    quantity,
                    "the resource has a field of its own",
                    f"remove it here; write `{fields[resource]}`",
                )
    for key, volume in experiment.storage.items():
        yield from unknown(f"storage.{key}.class", volume.storage_class, classes, "storage class")
        for index, role_name in enumerate(volume.roles if volume.roles is not None else ()):
            if role_name not in experiment.roles:
                yield Problem(
                    f"storage.{key}.roles[{index}]",
                    role_name,
                    "the experiment has no role of this name",
                    f"known: {list_names(experiment.roles)}",
                )
    if experiment.network.rdma and environment.rdma is None:
        yield Problem(
            "network.rdma",
            True,
            f"the experiment asks for RDMA, which the environment {environment.name} does not have",
            "remove it, or choose another environment",
        )


def unknown(path: str, name: str | None, known: Known, word: str) -> list[Problem]:
    """A problem where the name is none of those that the environment defines; None is no name."""
    if name is None or name in known.names:
        return []
    near, names = known.nearest(name), list_names(known.names)
    fix = f"did you mean {near}?" if near is not None else f"known: {names}" if names else "add it to the environment"
    return [Problem(path, name, f"the environment has no {word} of this name", fix)]
