"""A rendered object and what to do with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from trainform.catalog import defaults

FIELD_MANAGER = {"pulumi.com/patchFieldManager": "trainform"}


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One object. `key` is its name for the user (`manifest_overrides`).

    keep: stays at destroy and is adopted by the next up. patch: the object belongs to somebody else, and only the fields that
    stand here are set (Volcano makes the queue `default` itself). revision: the revision that the object's name contains, so that a
    change makes a new object; None where the name stays.
    """

    key: str
    body: dict[str, Any]
    keep: bool = False
    patch: bool = False
    revision: str | None = None

    @property
    def is_job(self) -> bool:
        """True for the job object itself."""
        return self.key == "job"


def resource_name(component: str, manifest: Manifest) -> str:
    """What Pulumi calls the object of a component: `resnet-job`, `resnet-launch-script-1f3a9c`.

    The job is one resource in all revisions: the preview shows its replacement with the changed field, and the old one is deleted
    before the new one is made. Any other object that follows the revision is a resource of its own in each. As one resource it would be made
    before the old one is deleted, so an `up` that fails in between leaves the old one to be deleted by the next `up`. If that goes back to
    the old revision, it makes the object anew and then deletes it, by the same name.
    """
    name = f"{component}-{manifest.key}"
    return name if manifest.revision is None or manifest.is_job else f"{name}-{manifest.revision}"


def job_body(manifests: Iterable[Manifest]) -> dict[str, Any]:
    """The job object among all objects of a job."""
    return next(manifest.body for manifest in manifests if manifest.is_job)


def ownership(name_label: str, *, environment: str) -> dict[str, str]:
    """Labels by which an object is known to be ours; they never change while the object lives."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: name_label, defaults.ENVIRONMENT_LABEL: environment}


def stamped(manifest: Manifest, overrides: Iterable[str] = ()) -> Manifest:
    """The object as it is applied, with what its annotations say.

    A fixed field manager: Pulumi's own is random per resource, so an object that outlived its state (a kept claim, a killed `up`)
    would answer the next change with a conflict. `overrides`: the fields of the user whose merge patches are in the object.
    """
    metadata = manifest.body["metadata"]
    patched = {defaults.OVERRIDES_ANNOTATION: ", ".join(overrides)}
    annotations = {**metadata.get("annotations", {}), **FIELD_MANAGER, **(patched if any(patched.values()) else {})}
    return dataclasses.replace(manifest, body={**manifest.body, "metadata": {**metadata, "annotations": annotations}})


def without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something: None, and empty lists and mappings, are left out; 0, False and "" stay."""
    return {key: value for key, value in fields.items() if value is not None and value != [] and value != {}}
