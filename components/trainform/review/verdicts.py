"""What the judges of capacity answer, and the words that they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from trainform.cluster.amounts import NOTHING, Amounts, spelled, summed
from trainform.review.model import Shortage
from trainform.review.placement import Group
from trainform.spec.environment import Environment

MOST_HOLDERS = 10


class Verdict(Struct, frozen=True):
    """An answer of one of the judges: a queue, a quota, the nodes. The worst one counts, by `WORST`."""

    word: Literal["later", "never", "unknown"]
    sentence: str
    shortages: tuple[Shortage, ...] = ()


WORST = ("never", "later", "unknown")


class Budget(Struct, frozen=True):
    """Something that gives pods a limited amount of each resource: a queue, a quota. said: `The queue night may hold`,
    which the amount follows. name: it
    alone. asked: by the gang. most: for all together. taken: by others, without the jobs that go; None if that is not
    known. held: of that what
    each job has, as far as it is known.  unknown: why nobody knows what is taken."""

    name: str
    said: str
    asked: Amounts
    most: Amounts
    taken: Amounts | None
    held: Mapping[str, Amounts]
    unknown: str = ""


def judged(budget: Budget, names: Names) -> Iterator[Verdict]:
    """Each resource of which the budget gives too little: ever, or while others hold what they hold."""
    for resource in sorted(budget.asked.keys() & budget.most.keys()):
        need, most = budget.asked[resource], budget.most[resource]
        free = most if budget.taken is None else most - budget.taken.get(resource, NOTHING)
        shown, amount = names.of(resource), names.amount
        if need > most:
            sentence = f"{budget.said} {amount(resource, most)}, and the gang needs {amount(resource, need)} at once."
            yield Verdict("never", sentence, (shortage(resource, need, most, (), shown),))
        elif need > free:
            sentence = (
                f"{budget.name} has {amount(resource, max(free, NOTHING))} left, and the gang needs "
                f"{amount(resource, need)} at once: it waits until others finish."
            )
            held = {job: amounts.get(resource, NOTHING) for job, amounts in budget.held.items()}
            yield Verdict("later", sentence, (shortage(resource, need, free, ordered(held, resource), shown),))
        elif budget.unknown:
            yield Verdict(
                "unknown",
                "It is not known whether the gang fits into what is left of "
                f"{budget.name[0].lower()}{budget.name[1:]}: {budget.unknown}.",
            )


# --- words


def shortage(resource: str, asked: Decimal, available: Decimal, holders: Iterable[str], shown: str) -> Shortage:
    """What is missing of a resource, and who holds it."""
    available = max(available, NOTHING)
    return Shortage(
        resource=shown,
        asked=spelled(resource, asked),
        available=spelled(resource, available),
        missing=spelled(resource, asked - available),
        holders=[*holders],
    )


def ordered(held: Mapping[str, Decimal], resource: str) -> list[str]:
    """The holders, the largest first: `ai-namespace/mnist-3b2c1d: 16`."""
    every = sorted((job for job in held if held[job]), key=lambda job: (-held[job], job))
    shown = [f"{job}: {spelled(resource, held[job])}" for job in every[:MOST_HOLDERS]]
    return shown if len(every) <= MOST_HOLDERS else [*shown, f"and {len(every) - MOST_HOLDERS} more"]


class Names:
    """How a reader calls resources: by the kind of accelerator where only one has the resource."""

    def __init__(self, environment: Environment | None) -> None:
        kinds = {} if environment is None else environment.accelerators
        self._names = resource_names(environment)
        self._accelerators = frozenset(kind.resource for kind in kinds.values())

    def of(self, resource: str) -> str:
        """The name of the resource."""
        return self._names.get(resource, resource)

    def amount(self, resource: str, value: Decimal) -> str:
        """`32 a800`."""
        return f"{spelled(resource, value)} {self.of(resource)}"

    def has_accelerators(self, group: Group) -> bool:
        """True if the pods ask for a kind of accelerator that the environment's file has."""
        return not self._accelerators.isdisjoint(group.asked)

    def gang(self, groups: Sequence[Group], which: str = "") -> str:
        """The pods and their accelerators, with the verb: `All 4 pods of the gang (32 a800) fit`. which: what tells
        them from others."""
        totals, count = total_of(groups), sum(group.count for group in groups)
        held = [self.amount(name, totals[name]) for name in sorted(totals) if name in self._accelerators]
        beside = f" ({', '.join(held)})" if held else ""
        return f"The only pod{which}{beside} fits" if count == 1 else f"All {count} pods of the gang{which}{beside} fit"


# --- sums


def total_of(groups: Iterable[Group]) -> Amounts:
    """What all pods ask for together."""
    return summed({name: group.total(name) for name in group.asked} for group in groups)


def resource_names(environment: Environment | None) -> Mapping[str, str]:
    """The kind of accelerators for each resource that one kind alone has: `baidu.com/a800_80g_cgpu` is a800."""
    kinds = {} if environment is None else environment.accelerators
    resources = [kind.resource for kind in kinds.values()]
    return {kind.resource: name for name, kind in kinds.items() if resources.count(kind.resource) == 1}
