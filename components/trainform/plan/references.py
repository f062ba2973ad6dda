"""Names that one file uses and the other defines: accelerator kinds, storage classes, roles. Queues have rules of their own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def reference_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for name, role in experiment.roles.items():
        for kind in role.accelerators:
            yield from unknown(
                f"roles.{name}.accelerators.{kind}", kind, environment.accelerators, "kind of accelerator"
            )
        fields = {"cpu": "cpu", "memory": "memory"}
        fields |= {offered.resource: f"accelerators.{kind}" for kind, offered in environment.accelerators.items()}
        fields |= {} if environment.rdma is None else {environment.rdma.resource: "network.rdma"}
        for resource, quantity in role.resources.items():
            if resource in fields:
                yield Problem(
                    f"roles.{name}.resources.{resource}",
                    quantity,
                    "has a field of its own",
                    f"remove it here; write `{fields[resource]}`",
                )
    for key, volume in experiment.storage.items():
        yield from unknown(f"storage.{key}.class", volume.storage_class, environment.storage_classes, "storage class")
        for index, role_name in enumerate(volume.roles if volume.roles is not None else ()):
            if role_name not in experiment.roles:
                yield Problem(
                    f"storage.{key}.roles[{index}]",
                    role_name,
                    "is not a role of this experiment",
                    f"known: {', '.join(experiment.roles)}",
                )
    if experiment.network.rdma and environment.rdma is None:
        yield Problem(
            "network.rdma",
            True,
            f"asks for RDMA, which the environment {environment.name} does not have",
            "remove it, or choose another environment",
        )


def unknown(path: str, name: str | None, known: Iterable[str], word: str) -> list[Problem]:
    """A problem where the name is none of those that the environment defines; None is no name."""
    if name is None or name in known:
        return []
    near = difflib.get_close_matches(name, list(known), 1)
    names = ", ".join(known)
    fix = f"did you mean {near[0]}?" if near else f"known: {names}" if names else "add it to the environment"
    return [Problem(path, name, f"is not a {word} of the environment", fix)]
