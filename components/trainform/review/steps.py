"""The steps of a preview: what the engine does to each object, the object's body on both sides, its name and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from trainform.backends.backend import pods_of, value_at
from trainform.manifests import manifest
from trainform.manifests.templates import Template
from trainform.review.context import Context
from trainform.review.preview import State, Step

Action = Literal["none", "create", "update", "replace", "delete", "unknown"]

ACTIONS: Mapping[str, Action] = {
    **dict.fromkeys(("same", "read", "read-discard", "refresh", "remove-pending-replace"), "none"),
    "create": "create",
    "update": "update",
    **dict.fromkeys(("replace", "create-replacement", "import-replacement", "read-replacement"), "replace"),
    **dict.fromkeys(("delete", "delete-replaced"), "delete"),
}
"""The effect of each operation of the engine. Any other one (`import`, or one of a newer engine) is unknown."""

CLAIM = manifest.CLAIM
QUEUE, SECRET, NAMESPACE, PRIORITY_CLASS = "Queue", "Secret", "Namespace", "PriorityClass"
SECRET_VALUES = ("data", "stringData")
PATCH = "Patch"
IDENTITY = ("metadata.namespace", "metadata.name")
RECORD = {"revision", "job", "experiment", "environment"}
"""Entries of the record of what is deployed."""
COMPONENT, ENGINE = "trainform:index:", "pulumi:"


def action(step: Step) -> Action:
    """Return what happens to the resource."""
    return ACTIONS.get(step.operation, "unknown")


def is_resource(step: Step) -> bool:
    """Return True for what exists somewhere: resources of other packages have a provider, unlike components."""
    return step.is_object or (not step.type.startswith((COMPONENT, ENGINE)) and bool(step.state.provider))


def kind(step: Step) -> str:
    """Return the kind of the object, also where only some of its fields are set (`QueuePatch`)."""
    return step.kind.removesuffix(PATCH) if step.is_object and step.kind != PATCH else step.kind


def kind_before(step: Step) -> str:
    """Return the kind of the existing object: a job that moves to another operator has another one."""
    found = None if step.old is None else step.old.inputs.get("kind")
    return found if isinstance(found, str) else kind(step)


def body(step: Step, state: State | None) -> dict[str, Any]:
    """Return the object on one side, with the version and kind of its type; empty if there is none."""
    if state is None:
        return {}
    version = step.type.removeprefix("kubernetes:").rpartition(":")[0].removeprefix("core/")
    return {"apiVersion": version, "kind": kind(step), **state.inputs}


def name(step: Step, state: State | None = None) -> str:
    """Return the name of the object in the cluster, or if that is unknown, the one in the program."""
    found = value_at({**(step.state if state is None else state).inputs}, "metadata.name") if step.is_object else None
    return found if isinstance(found, str) and found else step.name


def name_before(step: Step) -> str:
    """Return the name of the existing object, which a replacement or a deletion removes."""
    return name(step, step.old)


def of_kind(steps: tuple[Step, ...], wanted: str) -> Iterator[Step]:
    """Return the steps of the objects of a kind, by name."""
    return iter(sorted((step for step in steps if step.is_object and kind(step) == wanted), key=name))


def is_record(step: Step) -> bool:
    """Return True for the ConfigMap with the record of what is deployed."""
    data = step.state.inputs.get("data")
    return kind(step) == "ConfigMap" and isinstance(data, Mapping) and data.keys() >= RECORD


def others(context: Context) -> tuple[Step, ...]:
    """Return the steps that belong to no job."""
    of_jobs = {step.urn for job in context.jobs for step in (*job.steps, *filter(None, (job.component, job.job)))}
    return tuple(step for step in context.preview.steps if step.urn not in of_jobs)


def templates(step: Step, state: State | None) -> tuple[Template, ...]:
    """Return the pods of the object on one side."""
    if state is None:
        return ()
    found = state.pods if "kind" in state.inputs else pods_of(body(step, state))
    return tuple(pods.template for pods in found)


def is_one_object(step: Step) -> bool:
    """Return True if the object after the step has the name and the namespace of the one before."""
    was, will = ([value_at(body(step, state), path) for path in IDENTITY] for state in (step.old, step.new))
    return was == will


def leaves(step: Step) -> bool:
    """Return True for an object that leaves the stack and stays in the cluster."""
    return step.operation == "delete" and step.old is not None and step.old.keep


def gives_up(step: Step) -> bool:
    """Return True if the stack stops setting fields of an object: deleting a `QueuePatch` leaves the queue."""
    return step.operation == "delete" and step.is_object and step.kind != kind(step)


def no_longer_kept(step: Step) -> bool:
    """Return True for a claim that stays, was kept, and that the next `pulumi destroy` deletes."""
    if kind(step) != CLAIM or action(step) not in ("none", "update") or step.old is None or step.new is None:
        return False
    return step.old.keep and not step.new.keep
