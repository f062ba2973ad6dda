"""The steps of a preview: what the engine does to each object, the object's body on both sides, its name and its
pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from trainform.backends.pods import pods_of
from trainform.backends.workloads import value_at
from trainform.manifests.templates import Template
from trainform.review.context import Context
from trainform.review.preview import State, Step

Fate = Literal["none", "create", "update", "replace", "delete", "unknown"]

FATES: Mapping[str, Fate] = {
    "same": "none",
    "read": "none",
    "read-discard": "none",
    "refresh": "none",
    "remove-pending-replace": "none",
    "create": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "import-replacement": "replace",
    "read-replacement": "replace",
    "delete": "delete",
    "delete-replaced": "delete",
}
"""What each operation of the engine does to an object. Another one is of a newer engine, or takes an object over
(`import`) or out of the state."""

CLAIM, QUEUE, SECRET, NAMESPACE, PRIORITY_CLASS = (
    "PersistentVolumeClaim",
    "Queue",
    "Secret",
    "Namespace",
    "PriorityClass",
)
SECRET_VALUES = ("data", "stringData")
PATCH = "Patch"
IDENTITY = ("metadata.namespace", "metadata.name")
NAMING = {"apiVersion", "kind"}  # fields that a program may leave out
RECORD = {"revision", "job", "experiment", "environment"}
"""Entries of the record of what is deployed."""
COMPONENT, ENGINE = "trainform:index:", "pulumi:"


def fate(step: Step) -> Fate:
    """What happens to the resource. A new one and one that is gone can be told from their sides."""
    return FATES.get(step.operation, "unknown")


def is_resource(step: Step) -> bool:
    """True for what exists somewhere: no component, no provider and no stack. A provider's reference tells other
    people's resources."""
    if step.is_object:
        return True
    return not step.type.startswith((COMPONENT, ENGINE)) and bool(step.state.provider)


def kind(step: Step) -> str:
    """The kind of the object, also where only some of its fields are set (`QueuePatch`)."""
    return step.kind.removesuffix(PATCH) if step.is_object and step.kind != PATCH else step.kind


def body(step: Step, state: State | None) -> dict[str, Any]:
    """The object on one side, with version and kind from its type where the program has left them out; empty if it is
    not there."""
    if state is None:
        return {}
    version = step.type.removeprefix("kubernetes:").rpartition(":")[0].removeprefix("core/")
    return {"apiVersion": version, "kind": kind(step), **state.inputs}


def name(step: Step, state: State | None = None) -> str:
    """The name of the object in the cluster; of another resource, or where it is not known yet, the one in the
    program."""
    found = value_at({**(step.state if state is None else state).inputs}, "metadata.name") if step.is_object else None
    return found if isinstance(found, str) and found else step.name


def name_before(step: Step) -> str:
    """The name of what is there now, which is the one that a replacement or a deletion takes away."""
    return name(step, step.old)


def of_kind(steps: tuple[Step, ...], wanted: str) -> Iterator[Step]:
    """The steps of the objects of a kind, by name."""
    return iter(sorted((step for step in steps if step.is_object and kind(step) == wanted), key=name))


def is_record(step: Step) -> bool:
    """True for the ConfigMap with the record of what is deployed."""
    data = step.state.inputs.get("data")
    return kind(step) == "ConfigMap" and isinstance(data, Mapping) and data.keys() >= RECORD


def others(context: Context) -> tuple[Step, ...]:
    """The steps that belong to no job."""
    of_jobs = {step.urn for job in context.jobs for step in (*job.steps, *filter(None, (job.component, job.job)))}
    return tuple(step for step in context.preview.steps if step.urn not in of_jobs)


def templates(step: Step, state: State | None) -> tuple[Template, ...]:
    """The pods of the object on one side; none where it has a form that nobody can read."""
    if state is None:
        return ()
    try:
        found = state.pods if state.inputs.keys() >= NAMING else pods_of(body(step, state))
        return tuple(pods.template for pods in found)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        return ()


def is_one_object(step: Step) -> bool:
    """True if what is there after the step has the name and the namespace of what is there before."""
    was, will = ([value_at(body(step, state), path) for path in IDENTITY] for state in (step.old, step.new))
    return was == will


def leaves(step: Step) -> bool:
    """True for an object that leaves the stack and stays in the cluster."""
    return step.operation == "delete" and step.old is not None and step.old.keep


def gives_up(step: Step) -> bool:
    """True for some fields of an object that the stack no longer sets: deleting a `QueuePatch` leaves the queue."""
    return step.operation == "delete" and step.is_object and step.kind != kind(step)


def no_longer_kept(step: Step) -> bool:
    """True for a claim that stays, and that the next `pulumi destroy` deletes although it would have been kept until
    now."""
    if not _claim_remains(step) or step.old is None or step.new is None:
        return False
    return step.old.keep and not step.new.keep


def no_longer_protected(step: Step) -> bool:
    """True for a claim that stays and was never kept, and of which the engine has refused until now that it is
    deleted."""
    if not _claim_remains(step) or step.old is None or step.new is None:
        return False
    return step.old.protect and not step.new.protect and not step.old.keep and not step.new.keep


def _claim_remains(step: Step) -> bool:
    return kind(step) == CLAIM and fate(step) in ("none", "update")
