"""The objects that change, with their fields, without noise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform.cluster.live_drift import SERVER_FIELDS
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.manifests.differences import Difference, differences, shown
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.model import FieldChange, ObjectChange
from trainform.review.preview import Step

NOISE = SERVER_FIELDS | {"status", "deletionTimestamp"}
"""Fields of objects and of their metadata that the API server writes."""
TOOLS = ("pulumi.com/", "kubectl.kubernetes.io/", "meta.helm.sh/", "deployment.kubernetes.io/", "argocd.argoproj.io/")
"""Prefixes of annotations that tools write for themselves."""
PARTS = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)')  # of the engine's paths: data["tls.crt"], spec.a[0]
OWN = "__"  # before the provider's own properties
Names = Mapping[str, str]
NO_NAMES: Names = {}


def object_changes(context: Context) -> list[ObjectChange]:
    """Return the objects that the engine creates, changes or deletes, in the preview's order."""
    names = {step.urn: new_names(job) for job in context.jobs for step in job.steps}
    return [
        _object_change(step, names.get(step.urn, NO_NAMES))
        for step in context.preview.steps
        if steps.is_resource(step) and steps.action(step) != "none" and not steps.is_record(step)
    ]


def new_names(job: JobReview) -> Names:
    """Return the old and the new name and revision of the job, if it is replaced."""
    found: dict[str, str] = {}
    if job.job is not None and job.job.old is not None and job.job.new is not None:
        found[steps.name(job.job, job.job.old)] = steps.name(job.job, job.job.new)
    if job.before is not None and job.after is not None:
        found |= {job.before.job: job.after.job, job.before.revision: job.after.revision}
    return {old: new for old, new in found.items() if old and old != new}


def _follows(found: Difference, names: Names) -> bool:
    """Return True if the new side is the old one with the job's new name in it."""
    if not isinstance(found.before, str) or not isinstance(found.after, str):
        return False
    was = found.before
    for old, new in names.items():
        was = was.replace(old, new)
    return was == found.after


def _object_change(step: Step, names: Names) -> ObjectChange:
    change, kind, was = steps.action(step), steps.kind(step), steps.kind_before(step)
    goes = change in ("delete", "replace") and not steps.leaves(step)
    if was != kind and change == "replace":  # on another operator every field is another one
        fields = [FieldChange(path="kind", before=was, after=kind)]
    else:
        fields = [field_change(found) for found in field_differences(step, names)]
    of_revision = kind == "ConfigMap" and any(steps.name(step).startswith(f"{old}-") for old in names)
    return ObjectChange(
        operation=step.operation,
        kind=kind,
        name=steps.name(step),
        destructive=goes and not (change == "delete" and of_revision),
        fields=fields,
        fields_known=change in ("create", "delete") or (change != "unknown" and step.detail is not None),
    )


def field_change(found: Difference) -> FieldChange:
    """Return the difference as it may be shown."""
    if found.keys[-2:-1] == ("env",):
        found = structs.replace(found, before=_value(found.before), after=_value(found.after))
    was, will = shown(found)
    return FieldChange(path=found.path, before=was, after=will)


def _value(variable: Any) -> Any:
    """Return the value of a variable, which its path names already."""
    if not isinstance(variable, Mapping):
        return variable
    return next((variable[key] for key in ("value", "valueFrom") if key in variable), variable)


def field_differences(step: Step, names: Names = NO_NAMES) -> Iterator[Difference]:
    """Return the fields that differ, without noise and what follows from a job's new names, and changed masked ones."""
    if step.old is None or step.new is None:
        return
    found = differences(_clean(step.old.inputs), _clean(step.new.inputs))
    yield from (each for each in found if not _follows(each, names))
    hidden = [*masked_changes(step)]
    yield from hidden
    if not found and not hidden and steps.kind(step) == steps.SECRET and steps.action(step) == "update":
        fields = [field for field in steps.SECRET_VALUES if field in step.new.inputs]
        yield from (Difference((field,), (field,), MASK, CHANGED_MASK) for field in fields)


def masked_changes(step: Step) -> Iterator[Difference]:
    """Yield the fields that change by the engine's words, and are masked alike on both sides."""
    found = set()
    for path in step.detail or ():
        keys = tuple(int(index) if index else quoted or name for quoted, index, name in PARTS.findall(path))
        was, will = (_at({} if state is None else state.inputs, keys) for state in (step.old, step.new))
        if was == will and MASK in str(was[0]) and was[1] not in found:
            found.add(was[1])
            yield Difference(was[1], was[1], MASK, CHANGED_MASK)


def _at(value: Any, keys: tuple[str | int, ...]) -> tuple[Any, tuple[str | int, ...]]:
    """Return the value at the keys, or the text in their way, a mask; with the keys that lead to it."""
    for depth, key in enumerate(keys):
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return value, keys[:depth]
    return value, keys


def _clean(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs without what tools and the API server write."""
    kept = {key: value for key, value in inputs.items() if key not in NOISE and not str(key).startswith(OWN)}
    if isinstance(kept.get("metadata"), Mapping):
        kept["metadata"] = {key: value for key, value in kept["metadata"].items() if key not in NOISE}
        annotations = kept["metadata"].get("annotations")
        if isinstance(annotations, Mapping):
            own = {key: value for key, value in annotations.items() if not str(key).startswith(TOOLS)}
            kept["metadata"]["annotations"] = own
    return kept
