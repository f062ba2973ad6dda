"""Names that one file uses and the other defines: accelerator kinds, storage classes, roles. Queues have rules of their
own."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Iterator

from msgspec import Struct

from trainform.errors import Problem, list_names
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

MOST_COMPARED = 100


class Known(Struct, frozen=True):
    """Names that a file defines, to tell the nearest to one that it does not define."""

    names: Collection[str]

    def nearest(self, name: str) -> str | None:
        """The name that was meant, of the first ones: a comparison is slow, and every name may be wrong."""
        return next(iter(difflib.get_close_matches(name, itertools.islice(self.names, MOST_COMPARED), 1)), None)


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
