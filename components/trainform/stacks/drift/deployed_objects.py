"""The deployed objects of a stack, rendered again from their record. Pure functions."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.errors import InputError
from trainform.job.render import draft_plan, job_manifests, revision
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import Manifest, mapping
from trainform.plan.inputs import recorded_models
from trainform.plan.record import Record
from trainform.spec.environment import Environment

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
