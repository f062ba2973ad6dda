"""What changes as a reader sees it: the roles of each job before and after, then objects with their fields, without
noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from trainform.manifests.shapes import quantity
from trainform.plan.registries import pulled
from trainform.review import steps, wanted
from trainform.review.context import Context, JobReview
from trainform.review.difference import Difference, Keys, differences, is_reference, shown
from trainform.review.model import FieldChange, ObjectChange, RoleChange, RoleFacts
from trainform.review.objects import demands_of
from trainform.review.preview import Step
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.rules.limits.demands import Demand
from trainform.spec.environment import Environment

NOISE_OF_OBJECTS = ("status",)
NOISE_OF_METADATA = (
    "managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "deletionTimestamp",
)  # fmt: skip
TOOLS = ("pulumi.com/", "kubectl.kubernetes.io/", "meta.helm.sh/", "deployment.kubernetes.io/", "argocd.argoproj.io/")
"""Prefixes of annotations that tools write for themselves."""
OWN = "__"  # before the provider's own properties

DEFAULTS: Mapping[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "protocol": "TCP",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
"""What the API server fills in: no change where one side leaves it out."""

AMOUNTS = ("requests", "limits", "capability", "deserved", "resource", "minResources")
"""Fields with amounts by resources, in which `"8"` and 8 are one amount."""
VARIABLES = "env"

MOST_JOBS = 100
"""Jobs whose new names are looked for in objects of no job."""
CONFIG_MAP = "ConfigMap"
SOURCE = "valueFrom"
Names = Mapping[str, str]
NO_NAMES: Names = {}

EMPTY: tuple[Any, ...] = (None, "", [], {})


def role_changes(context: Context) -> list[RoleChange]:
    """The roles that differ, as their jobs have them. Where several jobs change, the job's name stands before the
    role's."""
    found = [(job, change) for job in context.jobs for change in _of_job(job, context.environment)]
    several = len({job.name for job, _ in found}) > 1
    return [
        change.model_copy(update={"name": f"{job.name}.{change.name}"}) if several else change for job, change in found
    ]


def _of_job(job: JobReview, environment: Environment | None) -> Iterator[RoleChange]:
    old = _roles(wanted.before(job), demands_of(job, environment, after=False))
    new = _roles(wanted.after(job), demands_of(job, environment, after=True))
    for name in [*new, *(name for name in old if name not in new)]:
        if old.get(name) != new.get(name):
            yield RoleChange(name=name, before=old.get(name), after=new.get(name))


def _roles(side: wanted.Side | None, asked: Sequence[Demand] | None) -> dict[str, RoleFacts]:
    """The roles of a side; none where this version of trainform cannot read it. asked: what their pods ask for, with
    merge patches, if that is known."""
    if side is None or side.model is None:
        return {}
    registries = side.environment.get("registries")
    mirrors = registries if isinstance(registries, Mapping) else {}
    return {
        name: RoleFacts(
            replicas=role.replicas,
            ranked=role.ranked,
            accelerators={kind: count for kind, count in role.accelerators.items() if count}
            if asked is None
            else {demand.kind: demand.each for demand in asked if demand.role == name},
            image=pulled(side.model.image if role.image is None else role.image, mirrors),
        )
        for name, role in side.model.roles.items()
    }


def object_changes(context: Context) -> list[ObjectChange]:
    """The objects that the engine creates, changes or deletes, in the preview's order."""
    names = _new_names(context)
    return [
        _object_change(step, names(step))
        for step in context.preview.steps
        if steps.is_resource(step) and steps.fate(step) != "none" and not steps.is_record(step)
    ]


def _new_names(context: Context) -> Callable[[Step], Names]:
    """The old and the new name and revision of each job that is replaced: what only follows them is no change of its
    own. An object is searched for those of its own job; one of no job for those of all, if they are few."""
    of_jobs = [(job, new_names(job)) for job in context.jobs]
    own = {step.urn: names for job, names in of_jobs for step in (*filter(None, [job.component, job.job]), *job.steps)}
    every = {old: new for _, names in of_jobs for old, new in names.items()} if len(of_jobs) <= MOST_JOBS else {}
    return lambda step: own.get(step.urn, every)


def new_names(job: JobReview) -> Names:
    """The old and the new name and revision of the job, where it is replaced."""
    found: dict[str, str] = {}
    if job.job is not None and job.job.old is not None and job.job.new is not None:
        found[steps.name(job.job, job.job.old)] = steps.name(job.job, job.job.new)
    if job.before is not None and job.after is not None:
        found |= {job.before.job: job.after.job, job.before.revision: job.after.revision}
    return {old: new for old, new in found.items() if old and old != new}


def _follows(found: Difference, names: Names) -> bool:
    """True if the new side is the old one with the job's new name in it."""
    if isinstance(found.before, str) and isinstance(found.after, str):
        was = found.before
        for old, new in names.items():
            was = was.replace(old, new)
        return was == found.after
    return False


def _object_change(step: Step, names: Names) -> ObjectChange:
    change = steps.fate(step)
    compared = step.old is not None and step.new is not None
    return ObjectChange(
        operation=step.operation,
        kind=steps.kind(step),
        name=steps.name(step),
        destructive=is_destructive(step) and not (change == "delete" and _is_of_revision(step, names)),
        fields=[field_change(found) for found in field_differences(step, names)] if compared else [],
        fields_known=change in ("create", "delete") or (change != "unknown" and step.detail is not None),
    )


def _is_of_revision(step: Step, names: Names) -> bool:
    """True for an object that each revision of a job has anew, such as its launch script."""
    return steps.kind(step) == CONFIG_MAP and any(steps.name(step).startswith(f"{old}-") for old in names)


def is_destructive(step: Step) -> bool:
    """True if something that exists is deleted or made anew, in the words of any version of the engine. A kept object
    stays in the cluster."""
    kept = step.operation == "delete" and step.old is not None and step.old.keep
    named = "delete" in step.operation or "replace" in step.operation
    return named and not kept and steps.fate(step) != "none"


def field_change(found: Difference) -> FieldChange:
    """The difference as it may be shown."""
    if found.keys[-2:-1] == (VARIABLES,):
        found = structs.replace(found, before=_value(found.before), after=_value(found.after))
    was, will = shown(found)
    return FieldChange(path=found.path, before=was, after=will)


def _value(variable: Any) -> Any:
    """What a variable is set to, which its path names already."""
    if not isinstance(variable, Mapping):
        return variable
    return next((variable[key] for key in ("value", "valueFrom") if key in variable), variable)


def field_differences(step: Step, names: Names = NO_NAMES) -> Iterator[Difference]:
    """The fields of the object that differ, without noise; of a Secret at least the field whose secret values change
    unseen. names: the old and the new names of a job: what only follows them is no change."""
    if step.old is None or step.new is None:
        return
    found = body_differences(step.old.inputs, step.new.inputs)
    secret = {each.keys[:-1] for each in found if each.keys[-1:] == (SOURCE,) and _names_secret(each)}
    masked = (_masked(each) if each.keys[-1:] == ("value",) and each.keys[:-1] in secret else each for each in found)
    yield from (each for each in masked if not _follows(each, names))
    if not found and steps.kind(step) == steps.SECRET and steps.fate(step) == "update":
        fields = [field for field in steps.SECRET_VALUES if field in step.new.inputs]
        yield from (Difference((field,), (field,), MASKED, CHANGED_MASK) for field in fields)


def body_differences(before: Mapping[str, Any], after: Mapping[str, Any], names: Names = NO_NAMES) -> list[Difference]:
    """How two objects or the pods of two differ, without noise and without what only follows the new names of a job."""
    found = differences(_clean(before), _clean(after), same=_same)
    return [each for each in found if not _follows(each, names)]


def _names_secret(found: Difference) -> bool:
    return is_reference(found.before) or is_reference(found.after)


def _masked(found: Difference) -> Difference:
    """The text of a variable that comes from a Secret on the other side."""
    before, after = (None if value is None else MASKED for value in (found.before, found.after))
    return structs.replace(found, before=before, after=after)


def _clean(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs without what tools and the API server write."""
    kept = {key: value for key, value in inputs.items() if key not in NOISE_OF_OBJECTS and not str(key).startswith(OWN)}
    metadata = kept.get("metadata")
    if isinstance(metadata, Mapping):
        kept["metadata"] = _clean_metadata(metadata)
    return kept


def _clean_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in metadata.items() if key not in NOISE_OF_METADATA}
    annotations = kept.get("annotations")
    if isinstance(annotations, Mapping):
        kept["annotations"] = {key: value for key, value in annotations.items() if not str(key).startswith(TOOLS)}
    return kept


def _same(keys: Keys, was: Any, will: Any) -> bool:
    """True if one side leaves out what the other has by default, or has empty, or spells the same amount in another
    way."""
    if was in EMPTY and will in EMPTY:
        return True
    if keys[-2:-1] and keys[-2] in AMOUNTS and quantity(was) is not None and quantity(was) == quantity(will):
        return True
    given = will if was is None else was
    return None in (was, will) and str(keys[-1]) in DEFAULTS and DEFAULTS[str(keys[-1])] == given
