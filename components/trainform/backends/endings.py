"""What ends a job while some of its pods still run: the success of other pods. All operators share this."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from trainform.plan.model import Ending


class Part(Struct, frozen=True):
    """Pods that an operator counts together: a task, a replicated job, the replicas of a type. `name`: the operator's
    name."""

    name: str
    role: str


def all_of(parts: Sequence[Part], chosen: Collection[Part]) -> tuple[Ending, ...]:
    """The ending by the success of all chosen parts together; empty if they are the whole job, or if there are none."""
    by_role = [*_by_role(parts, chosen)]
    if not by_role or len(chosen) == len(parts):
        return ()
    texts = [f"the role {role}" if found == own else _names(found, "and") for role, own, found in by_role]
    return (Ending(_listed(texts, "and"), (by_role[0][0],) if len(by_role) == 1 else ()),)


def any_of(parts: Sequence[Part], chosen: Collection[Part]) -> tuple[Ending, ...]:
    """The endings by the success of any one of the chosen parts; empty if the job has a single part."""
    if len(parts) == 1:
        return ()
    return tuple(Ending(_first(role, own, found), (role,)) for role, own, found in _by_role(parts, chosen))


def first_pod(part: Part) -> tuple[Ending, ...]:
    """The ending by the success of any one pod of the part."""
    return (Ending(f"the first pod of the role {part.role} that succeeds", (part.role,)),)


def ends_by(role: str | None, ends_with: Collection[Ending]) -> bool:
    """True if the success of the role is enough to end the job."""
    return any(role in ending.roles for ending in ends_with)


def _by_role(parts: Sequence[Part], chosen: Collection[Part]) -> Iterator[tuple[str, list[Part], list[Part]]]:
    """Each role that has chosen parts, with all its parts and its chosen ones."""
    members = set(chosen)
    for role in dict.fromkeys(part.role for part in parts if part in members):
        own = [part for part in parts if part.role == role]
        yield role, own, [part for part in own if part in members]


def _first(role: str, own: list[Part], found: list[Part]) -> str:
    if found != own:
        return _names(found, "or")
    return f"the role {role}" if len(own) == 1 else f"the first replica of the role {role} that succeeds"


def _names(parts: Sequence[Part], last: str) -> str:
    return _listed([part.name for part in parts], last)


def _listed(texts: Sequence[str], last: str) -> str:
    return f" {last} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
