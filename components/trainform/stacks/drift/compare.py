"""Comparison of deployed objects, rendered again from their record, with live ones. Pure functions: the reads are in
`live_reads`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any, Literal

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.live_drift import (
    SECRETS,
    Drift,
    drift_from,
    drift_of,
    fields_of_others,
    is_scaled,
    value_at,
    written_by_others,
)
from trainform.errors import InputError
from trainform.job.render import draft_plan, job_manifests, revision
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import FIELD_MANAGER, Manifest, mapping, mappings
from trainform.plan.inputs import recorded_models
from trainform.plan.record import Record
from trainform.spec.environment import Environment
from trainform.stacks.drift.report_model import FieldDrift, ObjectDrift

Basis = Literal["record", "other version", "files"]
"""The source of the rendering. `record`: the objects are the deployed ones. `other version`: this version of trainform
renders the record differently. `files`: there is no record, and the files may be ahead of the cluster."""
AHEAD = (
    "The objects of an environment's own stack are compared with its file. Fields that the file "
    "has and trainform has not written yet are not drift."
)


class DeployedObjects(Struct, frozen=True):
    """The objects of a stack as deployed. notes: limits of the comparison. ends: the job has a `ttl`."""

    manifests: tuple[Manifest, ...]
    basis: Basis
    notes: tuple[str, ...] = ()
    ends: bool = False


def recorded_objects(record: Record, stack: str) -> DeployedObjects:
    """Return the objects of the recorded job. stack: PROJECT/STACK. ValueError if it cannot be rendered."""
    try:
        experiment, environment = recorded_models(record)
        draft = draft_plan(experiment, environment, record.run)
        plan = draft_plan(experiment, environment, record.run, record.revision)
        manifests = [_marked(each, record, stack) for each in job_manifests(structs.replace(plan, record=record))]
        same = plan.job == record.job
        same = same and revision(job_manifests(draft), draft, BACKENDS[draft.backend].IN_PLACE) == record.revision
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"{_author(record)} The present version, {version('trainform')}, cannot render it "
            f"({type(error).__name__}); run `pulumi up`, which records it again, or use that version."
        ) from None
    ends = plan.ttl_seconds is not None
    if same:
        return DeployedObjects(tuple(manifests), "record", ends=ends)
    note = (
        f"{_author(record)} The present version, {version('trainform')}, renders other objects from the record, so "
        "that only what others have written is compared, and no object that is missing."
    )
    return DeployedObjects(tuple(manifests), "other version", (note,), ends)


def _marked(manifest: Manifest, record: Record, stack: str) -> Manifest:
    """Add the stack's annotation to a record that a Pulumi program has written: only such a record has a version."""
    if not manifest.is_record or record.version is None:
        return manifest
    metadata = manifest.body["metadata"]
    annotations = {**mapping(metadata.get("annotations")), defaults.STACK_ANNOTATION: stack}
    return structs.replace(manifest, body={**manifest.body, "metadata": {**metadata, "annotations": annotations}})


def environment_objects(environment: Environment) -> DeployedObjects:
    """Return the objects of the environment's own stack. ValueError, whose text is the reason, if its file is wrong."""
    try:
        return DeployedObjects(tuple(platform_manifests(environment)), "files", (AHEAD,))
    except InputError as error:
        raise ValueError(f"the environment's file is wrong: {error.problems[0].reason}") from None


def _author(record: Record) -> str:
    by = "an unknown version of trainform" if record.version is None else f"trainform {record.version}"
    return f"The record of what is deployed was made by {by}."


(MANAGER,) = FIELD_MANAGER.values()
_PULUMI = "pulumi-"  # prefix of its managers for objects without the annotation of `FIELD_MANAGER`
_DATA = ("data", "stringData")


def is_ours(manager: str) -> bool:
    """Return True for the manager of the fields that `pulumi up` writes."""
    return manager == MANAGER or manager.startswith(_PULUMI)


def is_written(live: Mapping[str, Any]) -> bool:
    """Return True if `pulumi up` has written a field of the live object."""
    return any(is_ours(manager) for manager in _managers(live))


def is_noted(live: Mapping[str, Any]) -> bool:
    """Return True if the live object has `managedFields`."""
    return bool(_managers(live))


def _managers(live: Mapping[str, Any]) -> list[str]:
    return [str(entry.get("manager", "")) for entry in mappings(mapping(live.get("metadata")).get("managedFields"))]


def needs_dry_run(manifest: Manifest, live: Mapping[str, Any]) -> bool:
    """Return True if a value is spelled differently, or if another writer has changed a field of ours."""
    if _is_closed(manifest):
        return False
    written = (path for path, _ in fields_of_others(live, is_ours))
    return any(True for _ in drift_of(manifest.body, live)) or any(_has(manifest.body, path) for path in written)


def compared(
    manifest: Manifest, live: Mapping[str, Any], answer: Mapping[str, Any] | None, basis: Basis
) -> ObjectDrift:
    """Compare the object. answer: the dry run of the deployed object; None without one, or if it was refused."""
    found = [*_changes(manifest, live, answer)]
    scaled = [drift for drift in found if is_scaled(live, drift.path)]
    changed = [drift for drift in found if drift not in scaled]
    ours = [drift for drift in changed if _COUNTS[basis](drift.manager)]
    paths = {drift.path for drift in found}
    others = [
        drift
        for path, drift in fields_of_others(live, is_ours)
        if not _has(manifest.body, path) and not any(f"{drift.path}.".startswith(f"{each}.") for each in paths)
    ]
    metadata = mapping(live.get("metadata"))
    anew = is_noted(live) and not is_written(live)
    deleting = str(metadata.get("deletionTimestamp", ""))
    return _object(
        manifest,
        state="gone" if deleting else "made anew" if anew else "changed" if ours else "as deployed",
        fields=[*map(_field, ours)],
        others=[] if anew else [*map(_field, [*scaled, *others])],  # its creator has written all fields
        manager=_creator(metadata) if anew else "",
        created=str(metadata.get("creationTimestamp", "")) if anew else "",
        deleting=deleting,
    )


def gone(manifest: Manifest) -> ObjectDrift:
    """Return the drift of an object that the cluster does not have."""
    return _object(manifest, state="gone")


# The writers whose differences are drift. With files, fields of trainform may not be applied yet.
_COUNTS: Mapping[Basis, Callable[[str], bool]] = {
    "record": lambda manager: True,
    "files": lambda manager: not is_ours(manager),
    "other version": lambda manager: bool(manager) and not is_ours(manager),
}


def _is_closed(manifest: Manifest) -> bool:
    """Return True for a Secret, whose values are not read, and for the record, which is the basis."""
    return manifest.body["kind"] == SECRETS or manifest.is_record


def _changes(manifest: Manifest, live: Mapping[str, Any], answer: Mapping[str, Any] | None) -> Iterable[Drift]:
    body = manifest.body
    if _is_closed(manifest):
        keys = [key for field in _DATA for key in body.get(field, {})]
        visible = {field: value for field, value in body.items() if field not in _DATA}
        others = written_by_others(keys, {**live, "kind": body["kind"]}, is_ours) if is_noted(live) else ()
        return [*drift_of(visible, live), *others]
    if answer is None:
        return drift_of(body, live)
    # webhooks add fields under trainform's manager that it does not render
    return [drift for path, drift in drift_from(answer, live) if _has(body, path) or not is_ours(drift.manager)]


def _has(body: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    return value_at(body, path) is not None


def _creator(metadata: Mapping[str, Any]) -> str:
    """Return the first writer; of several in one second, the one with most fields, since controllers follow at once."""
    entries = [entry for entry in mappings(metadata.get("managedFields")) if not entry.get("subresource")]
    first = min(entries, key=lambda entry: (str(entry.get("time", "")), -len(str(entry.get("fieldsV1")))), default={})
    return str(first.get("manager", ""))


def _field(drift: Drift) -> FieldDrift:
    found = {"was": drift.applied, "now": drift.live, "manager": drift.manager, "written": drift.written}
    return FieldDrift.model_validate({"path": drift.path, **found})


def _object(manifest: Manifest, **found: Any) -> ObjectDrift:
    metadata = manifest.body["metadata"]
    namespace = metadata.get("namespace")
    return ObjectDrift(
        kind=manifest.body["kind"],
        name=metadata["name"],
        namespace="" if namespace is None else namespace,
        is_job=manifest.is_job,
        **found,
    )
