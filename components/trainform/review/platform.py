"""What differs in an environment's file, as its own stack has recorded it before and after, and which of it changes an
object of the stack."""

from __future__ import annotations

import functools

from msgspec import Struct

from trainform.plan.inputs import recorded_environment
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.difference import Difference, differences, shown
from trainform.review.model import Change
from trainform.review.preview import State, Step
from trainform.spec.environment import Environment

PLATFORM = "trainform:index:Platform"
SECTIONS = {
    steps.QUEUE: "queues",
    steps.CLAIM: "claims",
    steps.PRIORITY_CLASS: "priority_classes",
    steps.NAMESPACE: "namespace",
}
"""Section of the environment's file by kind of the object."""


class Recorded(Struct, frozen=True):
    """An environment that is recorded before and after."""

    before: Environment
    after: Environment
    differences: tuple[Difference, ...]


def recorded(state: State | None) -> Environment | None:
    """Return what a stack has recorded; None if that is nothing, or if this version of trainform cannot read it."""
    try:
        return None if state is None or not state.inputs else recorded_environment(state.inputs)
    except (ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=16)  # each object and several parts of the report ask for it
def recorded_in(context: Context) -> tuple[Recorded, ...]:
    """Return each environment of the preview that is recorded on both sides."""
    found = []
    for step in context.preview.steps:
        before, after = (recorded(state if step.type == PLATFORM else None) for state in (step.old, step.new))
        if before is not None and after is not None:
            old, new = (each.model_dump(mode="json", by_alias=True, exclude={"cluster"}) for each in (before, after))
            found.append(Recorded(before, after, tuple(differences(old, new))))
    return tuple(found)


def platform_causes(step: Step, context: Context) -> list[Change]:
    """Return the fields of the environment's file that differ for this object; none for an object of another
    program."""
    section = SECTIONS.get(steps.kind(step)) if step.is_object else None
    if section is None or f"{PLATFORM}::" not in step.state.parent:
        return []
    keys = (section,) if section == "namespace" else (section, steps.name(step))
    every = (found for each in recorded_in(context) for found in each.differences)
    return [_change(found, context) for found in every if found.keys[: len(keys)] == keys]


def _change(found: Difference, context: Context) -> Change:
    path, (before, after) = f"environment.{found.path}", shown(found)
    return Change(place=context.locate(path).model_copy(update={"path": path}), before=before, after=after)
