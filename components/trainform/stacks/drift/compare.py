"""Comparison of deployed objects with live ones. Pure functions: the reads are in `live_reads`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
from trainform.manifests.manifest import FIELD_MANAGER, Manifest, mapping, mappings
from trainform.stacks.drift.deployed_objects import Basis
from trainform.stacks.drift.report_model import FieldDrift, ObjectDrift

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
