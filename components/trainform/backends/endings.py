"""What ends a job while pods of it still run, as far as operators have it in common: the success of some of its
parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence

from trainform.plan.model import Ending, Plan


@dataclasses.dataclass(frozen=True)
class Part:
    """Pods that an operator counts together: a task, a replicated job, the replicas of a type. `name`: its word for
    them."""

    name: str
    role: str


def all_of(parts: Sequence[Part], chosen: Collection[Part]) -> tuple[Ending, ...]:
    """The success of all chosen ones together; nothing where they are the whole job, or none."""
    by_role = [*_by_role(parts, chosen)]
    if not by_role or len(chosen) == len(parts):
        return ()
    words = [f"the role {role}" if found == own else _names(found, "and") for role, own, found in by_role]
    return (Ending(_listed(words, "and"), (by_role[0][0],) if len(by_role) == 1 else ()),)


def any_of(parts: Sequence[Part], chosen: Collection[Part]) -> tuple[Ending, ...]:
    """The success of each chosen one by itself; nothing where it is the whole job."""
    if len(parts) == 1:
        return ()
    return tuple(Ending(_first(role, own, found), (role,)) for role, own, found in _by_role(parts, chosen))


def first_pod(part: Part) -> tuple[Ending, ...]:
    """The success of the pod of the part that is the first to succeed."""
    return (Ending(f"the first pod of the role {part.role} that succeeds", (part.role,)),)


def ends_by(role: str | None, ends_with: Collection[Ending]) -> bool:
    """Whether the success of the role is enough to end the job."""
    return any(role in ending.roles for ending in ends_with)


def endless_notes(plan: Plan, ends_with: Collection[Ending]) -> Iterator[str]:
    """That the role which is to end the job does not: the other pods then run on."""
    others = [role for role in plan.roles if role.name != plan.ending_role and role.replicas > 0]
    if plan.ending_role is None or not others or ends_by(plan.ending_role, ends_with):
        return
    held: dict[str, int] = {}
    for role in others:
        kind, count = ("", 0) if role.accelerators is None else role.accelerators
        held[kind] = held.get(kind, 0) + role.replicas * count
    accelerators = "".join(f", with {count} {kind}," for kind, count in held.items() if count)
    names = _listed([role.name for role in others], "and")
    yield (
        f"nothing ends this job when the role {plan.ending_role} completes: the pods of {names}{accelerators} run until they end by themselves, or "
        "until the job is deleted"
    )


def _by_role(parts: Sequence[Part], chosen: Collection[Part]) -> Iterator[tuple[str, list[Part], list[Part]]]:
    """Each role of the chosen parts, with all its parts and the chosen ones among them."""
    among = set(chosen)
    for role in dict.fromkeys(part.role for part in parts if part in among):
        own = [part for part in parts if part.role == role]
        yield role, own, [part for part in own if part in among]


def _first(role: str, own: list[Part], found: list[Part]) -> str:
    if found != own:
        return _names(found, "or")
    return f"the role {role}" if len(own) == 1 else f"the first replica of the role {role} that succeeds"


def _names(parts: Sequence[Part], last: str) -> str:
    return _listed([part.name for part in parts], last)


def _listed(words: Sequence[str], last: str) -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
