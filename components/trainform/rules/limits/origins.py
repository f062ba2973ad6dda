"""The field of an experiment, or the merge patch, that causes a finding in rendered objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import mapping
from trainform.plan.model import Plan, RolePlan
from trainform.rules.limits.rule import Finding, Judgement
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

# The fields of an environment that make an object for each of their entries, and the prefix of the keys of the objects.
OBJECTS = {"queues": "queue", "claims": "claim", "priority_classes": "priority-class"}
# The field that sets a place of pods.
_FIELDS_OF_PLACES = {
    "spec.hostNetwork": "network.host",
    "spec.priorityClassName": "priority_class",
    "spec.securityContext.runAsNonRoot": "run_as",
    "spec.securityContext.runAsUser": "run_as.user",
    "spec.serviceAccountName": "service_account",
    "shared_memory": "shared_memory",
    f"spec.volumes.{defaults.SHARED_MEMORY_VOLUME}": "shared_memory",
}
# The field that a rule judges in objects of different operators.
_FIELDS_OF_RULES = {"TF-QUE-1": "queue", "TF-PRI-1": "priority_class", "TF-RUN-1": "ttl"}
# Prefixes of places that end with a name, and the field that sets them.
_FIELDS_WITH_NAMES = {
    "spec.nodeSelector.": "node_selector",
    "metadata.labels.": "labels",
    "metadata.annotations.": "annotations",
}
CONTAINERS = "spec.containers."
CLAIM, QUEUE = "claim-", "queue-"  # prefixes of keys of objects


def problem_of(judgement: Judgement, plan: Plan, experiment: Experiment) -> Problem:
    """Return the problem of a finding in an experiment's objects, at the field of the experiment."""
    finding = judgement.finding
    path = field_of(judgement, plan, experiment)
    code, fingerprint = judgement.rule.code, judgement.fingerprint(plan.experiment)
    return Problem(path, finding.value, finding.reason, finding.fix, code=code, fingerprint=fingerprint)


def platform_problem(judgement: Judgement, environment: Environment) -> Problem:
    """Return the problem of a finding in an environment's objects, at the part that makes the object."""
    finding = judgement.finding
    path = finding.where if finding.key is None else finding.key
    for field, beginning in OBJECTS.items():
        for name in getattr(environment, field):
            path = f"{field}.{name}" if finding.key == f"{beginning}-{name}" else path
    return Problem(path, finding.value, finding.reason, finding.fix, code=judgement.rule.code)


def field_of(judgement: Judgement, plan: Plan, experiment: Experiment) -> str:
    """Return the path of the patch or the field that sets the place of the finding, or else of the role or object."""
    finding = judgement.finding
    role = None if finding.template is None else plan.by_name.get(finding.template.role)
    patched = _place_in_patches(finding, role, plan)
    if patched is not None:
        return patched
    field = _FIELDS_OF_RULES.get(judgement.rule.code)
    if field is not None and finding.value in (None, plan.queue.name, plan.priority_class, plan.workload_priority):
        return field
    if finding.template is None:
        return finding.where if finding.key is None else _object_field(finding, experiment)
    if role is None:
        return "manifest_overrides.job"
    # an item that the patch adds may lack a field
    patch, added = patch_path(role, plan), ".".join(finding.where.split(".")[:3])
    place = f"{patch}.{finding.where}" if added in by_place(role.overrides) else patch
    return next(_fields(finding, role, experiment), place)


def _place_in_patches(finding: Finding, role: RolePlan | None, plan: Plan) -> str | None:
    """Return the place in a merge patch that sets the place of the finding; None if no patch does."""
    if not finding.where.startswith(("spec", "metadata")):
        return None
    if role is not None and (where := in_patch(finding.where, role)) in by_place(role.overrides):
        return f"roles.{role.name}.pod_overrides.{where}"
    owner = "queue" if str(finding.key).startswith(QUEUE) else finding.key
    patches = {key: patch for key, patch in plan.manifest_overrides.items() if owner in (None, key)}
    found = {where: value for where, value in by_place(patches).items() if where.endswith(f".{finding.where}")}
    same = [where for where, value in found.items() if value == finding.value]
    return f"manifest_overrides.{[*same, *found][0]}" if found else None


def by_place(value: Any, path: str = "") -> dict[str, Any]:
    """Return each place in a patch or an object with its value; items of lists by name, and by index in brackets."""
    if isinstance(value, dict):
        inner = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        inner += [(f"{path}.{item['name']}", item) for item in value if isinstance(item, dict) and "name" in item]
    else:
        inner = []
    return {place: each for where, item in inner for place, each in {where: item, **by_place(item, where)}.items()}


def in_patch(where: str, role: RolePlan) -> str:
    """Return the place in a patch of the role, in which the main container is `main` on every operator."""
    containers = mapping(role.overrides.get("spec")).get("containers")
    name, dot, below = where.removeprefix(CONTAINERS).partition(".")
    if where.startswith(CONTAINERS) and isinstance(containers, dict) and name not in containers:
        return f"{CONTAINERS}{defaults.MAIN_CONTAINER}{dot}{below}" if defaults.MAIN_CONTAINER in containers else where
    return where


def patch_path(role: RolePlan, plan: Plan) -> str:
    """Return the path of the merge patch that changes the pods of the role; of the role itself if there is none."""
    if role.overrides:
        return f"roles.{role.name}.pod_overrides"
    return "manifest_overrides.job" if "job" in plan.manifest_overrides else f"roles.{role.name}"


def _object_field(finding: Finding, experiment: Experiment) -> str:
    """Return the field that sets a place in an object: of the experiment's queue or claim, or of all objects."""
    key, where = str(finding.key), finding.where
    name = key.removeprefix(CLAIM)
    if key.startswith(CLAIM) and name in experiment.storage and not where.startswith(("spec", "metadata")):
        return f"storage.{name}.{where}"
    if key.startswith(QUEUE) and where == "metadata.name":
        return "queue"
    if key.startswith(QUEUE) and where.startswith("spec."):
        return f"queue.{where.removeprefix('spec.')}"
    for prefix, field in _FIELDS_WITH_NAMES.items():
        if where.startswith(prefix) and where.removeprefix(prefix) in getattr(experiment, field):
            return f"{field}.{where.removeprefix(prefix)}"
    return f"manifest_overrides.{key}.{where}"


def _fields(finding: Finding, role: RolePlan, experiment: Experiment) -> Iterator[str]:
    """Yield the fields of the experiment that set the place of pods: those of the role, then those of all roles."""
    where, own = finding.where, experiment.roles[role.name]
    kind = where.removeprefix("accelerators.")
    if role.accelerators == (kind, finding.value):
        yield f"roles.{role.name}.accelerators.{kind}"
    if role.resources.get(where) == finding.value is not None:
        yield f"roles.{role.name}.{where}"
    resource = where.partition(".resources.")[2].removeprefix("requests.").removeprefix("limits.")
    if resource in own.resources:
        yield f"roles.{role.name}.resources.{resource}"
    volume = where.removeprefix("spec.volumes.").partition(".")[0]
    if where.startswith("spec.volumes.") and volume in experiment.storage:
        yield f"storage.{volume}"
    yield from _container_fields(finding, role, experiment)
    for path, holder in ((f"roles.{role.name}.", own), ("", experiment)):
        written = holder.user_set()
        for prefix, field in _FIELDS_WITH_NAMES.items():
            name = where.removeprefix(prefix)
            if where.startswith(prefix) and name in mapping(written.get(field)):
                yield f"{path}{field}.{name}"
        for index, toleration in enumerate(holder.tolerations if where.startswith("spec.tolerations[") else ()):
            if finding.value == (toleration.key or toleration.operator):
                yield f"{path}tolerations[{index}]"
        fields = (field for place, field in _FIELDS_OF_PLACES.items() if f"{where}.".startswith(f"{place}."))
        field = next(fields, "")
        if field and (field.partition(".")[0] in written or (finding.value is None and not path)):
            yield f"{path}{field}"


def _container_fields(finding: Finding, role: RolePlan, experiment: Experiment) -> Iterator[str]:
    """Yield the fields of images and variables that have the value of the finding."""
    container, _, variable = finding.where.removesuffix(".value").rpartition(".env.")
    for index, init in enumerate(role.init):
        where, path = f"spec.initContainers.{init.name}", role.init_path(index)
        if finding.where == f"{where}.image" and init.image == finding.value:
            yield f"{path}.image"
        if container == where and variable in init.env:
            yield f"{path}.env.{variable}"
    if finding.where.endswith(".image") and finding.value == role.image:
        yield role.image_origin
    for path, holder in ((f"roles.{role.name}.", experiment.roles[role.name]), ("", experiment)):
        if container and variable in holder.env and finding.value in (holder.env[variable], None):
            yield f"{path}env.{variable}"
