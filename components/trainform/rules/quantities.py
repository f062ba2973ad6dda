"""Amounts of resources as Kubernetes takes them: whole pieces, whole pages."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import amount, is_too_small, is_whole, too_small

HUGE_PAGES = "hugepages-"
OF_BYTES = ("memory", "ephemeral-storage")
MOST_PIECES = 2**63 // 1000  # the API server counts pieces of extended resources in thousandths, in 63 bits


def amount_problems(path: str, amounts: dict[str, str]) -> Iterator[Problem]:
    """What is wrong with quantities by resource name or accelerator kind: only CPU comes in fractions."""
    for name, quantity in amounts.items():
        where = f"{path}.{name}"
        if name != "cpu" and not is_whole(quantity):
            yield Problem(
                where,
                quantity,
                "the value is a fraction; Kubernetes counts it in whole numbers",
                "write a whole number",
            )
        elif "/" in name and amount(quantity) > MOST_PIECES:
            yield Problem(
                where, quantity, "the value is larger than Kubernetes can hold", f"write {MOST_PIECES} or less"
            )
        elif name in OF_BYTES and is_too_small(quantity):
            yield Problem(where, quantity, *too_small(quantity))
        elif name.startswith(HUGE_PAGES) and amount(quantity) % amount(name.removeprefix(HUGE_PAGES)):
            page = name.removeprefix(HUGE_PAGES)
            yield Problem(
                where,
                quantity,
                f"the value is not a multiple of the page size {page}",
                f"round it to a multiple of {page}",
            )


def resource_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """The same for the further resources of roles; huge pages need CPU or memory beside them."""
    for name, role in experiment.roles.items():
        path = f"roles.{name}.resources"
        yield from amount_problems(path, role.resources)
        pages = [resource for resource in role.resources if resource.startswith(HUGE_PAGES)]
        if pages and role.cpu is None and role.memory is None:
            yield Problem(
                f"{path}.{pages[0]}", role.resources[pages[0]],
                "the role has huge pages without CPU or memory, which Kubernetes refuses",
                f"add `memory:` to the role {name}"
            )  # fmt: skip
