"""Pods that an operator makes only after others, as a merge patch can say it: whether the job then ever starts.

A gang starts when so many pods have room, and a pod that is not made yet has none. So where it waits for a pod of the
gang, and the gang for it, nothing starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from trainform.errors import Problem
from trainform.plan.model import Plan

TOGETHER = "remove it: all pods start together, and the launch script waits for the others"


class After(Struct, frozen=True):
    """Other pods that must run first, or that must have succeeded."""

    name: str
    succeeded: bool = False


class Batch(Struct, frozen=True):
    """Pods that an operator makes at one time: a task, a replicated job.

    name: the operator's name. least: how many of the pods themselves the gang needs, whatever others it has; 0 where
    the gang counts all pods alike. after: what they wait for; any_of: one of these is enough. where: the path in the
    object that says so.
    """

    name: str
    role: str
    pods: int
    least: int = 0
    after: tuple[After, ...] = ()
    any_of: bool = False
    where: str = ""


def order_problems(plan: Plan, batches: Sequence[Batch], gang: int) -> Iterator[Problem]:
    """A problem for each field of the job object that keeps it from starting. gang: the number of pods that start
    together; 0 if there is no gang."""
    found = {**_short(plan, batches, gang), **_apart(plan, batches), **_never(batches)}
    for where, (reason, fix) in found.items():
        yield Problem(f"manifest_overrides.job.spec.{where}", None, reason, fix)


def order_notes(batches: Sequence[Batch]) -> Iterator[str]:
    """A note for each field that lets pods start later than the gang does."""
    for batch in batches:
        if batch.after and batch.pods:
            ready = "have succeeded" if all(after.succeeded for after in batch.after) else "run"
            yield (
                f"manifest_overrides.job.spec.{batch.where}: the pods of {batch.name} are made only when those of {_names(batch)} {ready}, "
                "which hold their room meanwhile; remove it to let all start together"
            )


_Found = dict[str, tuple[str, str]]
"""Reason and fix by path."""


def _short(plan: Plan, batches: Sequence[Batch], gang: int) -> _Found:
    """Where the gang counts pods that are made only when it has started."""
    first = [batch for batch in batches if not batch.after]
    made = sum(batch.pods for batch in first)
    waiting = [batch for batch in batches if batch.after]
    short = waiting if made < gang else [batch for batch in waiting if gang and batch.least]
    return {
        batch.where: (
            f"the gang starts when {gang} pods have room, and those of {batch.name} are made only when those of "
            f"{_names(batch)} run: before that there are {made}",
            _out_of_the_gang(plan, batch.role),
        )
        for batch in short
    }


def _never(batches: Sequence[Batch]) -> _Found:
    """Where pods wait in a circle, or for pods that the job does not have."""
    made: set[str] = set()
    waiting = [*batches]
    while ready := [batch for batch in waiting if _is_ready(batch, made)]:
        made.update(batch.name for batch in ready)
        waiting = [batch for batch in waiting if batch.name not in made]
    return {
        batch.where: (f"the pods of {batch.name} are never made, since those of {_names(batch)} never run before", TOGETHER)
        for batch in waiting
    }  # fmt: skip


def _apart(plan: Plan, batches: Sequence[Batch]) -> _Found:
    """Where pods of a static world wait for the success of others that wait for them."""
    if plan.world.bounds is not None:
        return {}
    world = {role.name for role in plan.roles if role.launched}
    roles = {batch.name: batch.role for batch in batches}
    return {
        batch.where: (f"the pods of {batch.name} wait for the success of those of {after.name}, which train with them", TOGETHER)
        for batch in batches
        for after in batch.after
        if after.succeeded and {batch.role, roles.get(after.name)} <= world
    }  # fmt: skip


def _is_ready(batch: Batch, made: set[str]) -> bool:
    if batch.after and batch.any_of:
        return any(after.name in made for after in batch.after)
    return all(after.name in made for after in batch.after)


def _names(batch: Batch) -> str:
    return f" {'or' if batch.any_of else 'and'} ".join(after.name for after in batch.after)


def _out_of_the_gang(plan: Plan, role: str) -> str:
    if plan.by_name[role].launched:
        return TOGETHER
    return f"remove it, or take its pods out of the gang: `roles.{role}.min_available: 0`"
