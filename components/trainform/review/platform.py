"""Why an object of an environment's own stack changes: its fields in the words of the environment's file. Such a stack
has no record."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review import steps
from trainform.review.changes import field_differences
from trainform.review.context import Context
from trainform.review.difference import Difference, Keys, shown
from trainform.review.model import Change
from trainform.review.preview import Step
from trainform.spec.environment import Environment

PLATFORM = "trainform:index:Platform"

SECTIONS = {
    steps.QUEUE: "queues.{name}",
    steps.CLAIM: "claims.{name}",
    steps.PRIORITY_CLASS: "priority_classes.{name}",
    steps.NAMESPACE: "namespace",
}
"""Where the environment's file has an object of a kind."""

FIELDS: tuple[tuple[str, Keys, str], ...] = (
    (steps.QUEUE, ("spec", "weight"), "weight"),
    (steps.QUEUE, ("spec", "reclaimable"), "reclaimable"),
    (steps.QUEUE, ("spec", "parent"), "parent"),
    (steps.QUEUE, ("spec", "priority"), "priority"),
    (steps.QUEUE, ("spec", "capability"), "capability"),
    (steps.QUEUE, ("spec", "deserved"), "deserved"),
    (steps.QUEUE, ("spec", "guarantee", "resource"), "guarantee"),
    (steps.QUEUE, ("spec", "guarantee"), "guarantee"),
    (steps.CLAIM, ("spec", "resources", "requests", "storage"), "size"),
    (steps.CLAIM, ("spec", "storageClassName"), "class"),
    (steps.CLAIM, ("spec", "accessModes"), "access_modes"),
    (steps.NAMESPACE, ("metadata", "name"), "name"),
    (steps.PRIORITY_CLASS, ("value",), "value"),
    (steps.PRIORITY_CLASS, ("preemptionPolicy",), "preempt"),
    (steps.PRIORITY_CLASS, ("description",), "description"),
)
"""The kind, the field of the object, and the field of the file that it follows from. What stands below the field is a
name in both."""


def platform_causes(step: Step, context: Context) -> list[Change]:
    """The fields of the environment's file that differ for this object; none for an object of another program."""
    if f"{PLATFORM}::" not in step.state.parent:
        return []
    return [*_causes(step, context)]


def _causes(step: Step, context: Context) -> Iterator[Change]:
    kind, name = steps.kind(step), steps.name(step)
    for found in field_differences(step):
        field = _field(kind, found, context.environment)
        if field is not None:
            path = f"environment.{SECTIONS[kind].format(name=name)}.{field}"
            was, will = shown(found)
            yield Change(place=context.locate(path).model_copy(update={"path": path}), before=was, after=will)
    if step.old is not None and step.new is not None and step.old.keep != step.new.keep and kind == steps.CLAIM:
        path = f"environment.{SECTIONS[kind].format(name=name)}.keep"
        place = context.locate(path).model_copy(update={"path": path})
        yield Change(place=place, before=step.old.keep, after=step.new.keep)


def _field(kind: str, found: Difference, environment: Environment | None) -> str | None:
    for of_kind, keys, field in FIELDS:
        if kind == of_kind and found.keys[: len(keys)] == keys:
            return ".".join([field, *(_in_file(str(key), environment) for key in found.keys[len(keys) :])])
    return None


def _in_file(resource: str, environment: Environment | None) -> str:
    """The kind of accelerators whose resource it is, as the file's amounts name it; the name itself if it is no
    kind's."""
    kinds = {} if environment is None else environment.accelerators
    return next((name for name, kind in kinds.items() if kind.resource == resource), resource)
