"""Amounts of resources as Kubernetes takes them: whole pieces, whole pages."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import is_too_small, is_whole, too_small

OF_BYTES = ("memory", "ephemeral-storage")


def amount_problems(path: str, amounts: dict[str, str]) -> Iterator[Problem]:
    """What is wrong with quantities by resource name or accelerator kind: only CPU comes in fractions."""
    for name, quantity in amounts.items():
        where = f"{path}.{name}"
        if name != "cpu" and not is_whole(quantity):
            reason = "the value is a fraction; Kubernetes counts it in whole numbers"
            yield Problem(where, quantity, reason, "write a whole number")
        elif name in OF_BYTES and is_too_small(quantity):
            yield Problem(where, quantity, *too_small(quantity))


def resource_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """The same for the further resources of roles."""
    for name, role in experiment.roles.items():
        yield from amount_problems(f"roles.{name}.resources", role.resources)
