"""From a finding in rendered objects to the field of the experiment that it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.shapes import mapping
from trainform.plan.model import Plan, RolePlan
from trainform.rules.limits.rule import Finding, Judgement
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

# The parts of an environment that make an object for each of their entries, and how the keys of these objects begin.
OBJECTS = {"queues": "queue", "claims": "claim", "priority_classes": "priority-class"}

_Field = tuple[str, object]
"""The path of a field, and the value that the plan has for it: another value comes from a patch."""

# The fields of pods that come from a field of the experiment.
_OF_PODS: dict[str, Callable[[Plan], _Field]] = {
    "spec.hostNetwork": lambda plan: ("network.host", plan.host_network),
    "spec.priorityClassName": lambda plan: ("priority_class", plan.priority_class),
    "spec.securityContext.runAsNonRoot": lambda plan: ("run_as", _non_root(plan)),
    "spec.securityContext.runAsUser": lambda plan: ("run_as.user", None if plan.run_as is None else plan.run_as.user),
    "spec.serviceAccountName": lambda plan: ("service_account", plan.service_account),
}
# Fields of an experiment that answer for a place in several objects of different operators, by the rule.
_OF_RULES: dict[str, Callable[[Plan], _Field]] = {
    "TF-QUE-1": lambda plan: ("queue", plan.queue.name),
    "TF-PRI-1": lambda plan: ("priority_class", plan.priority_class),
    "TF-RUN-1": lambda plan: ("ttl", plan.ttl_seconds),
}
# The service account of pods that name none.
_NO_ACCOUNT = "default"
CONTAINERS = "spec.containers."
CLAIM, QUEUE = "claim-", "queue-"  # beginnings of keys of objects


def _non_root(plan: Plan) -> bool | None:
    """What the pods set: an image decides it without `run_as`, and root needs to be allowed."""
    return None if plan.run_as is None or plan.run_as.user == 0 else True


def problem_of(judgement: Judgement, plan: Plan, experiment: Experiment) -> Problem:
    """The problem that a finding of an experiment's objects is, at the field of the experiment, with its rule and fingerprint."""
    finding = judgement.finding
    return Problem(
        field_of(judgement, plan, experiment),
        finding.value,
        finding.reason,
        finding.fix,
        code=judgement.rule.code,
        fingerprint=judgement.fingerprint(plan.experiment),
    )


def platform_problem(judgement: Judgement, environment: Environment) -> Problem:
    """The problem that a finding of an environment's objects is, at the part of the environment that makes the object. No experiment can waive
    it."""
    finding = judgement.finding
    return Problem(
        _part_of(finding.key, finding.where, environment),
        finding.value,
        finding.reason,
        finding.fix,
        code=judgement.rule.code,
    )


def _part_of(key: str | None, where: str, environment: Environment) -> str:
    """The field of the environment's file for an object by its key."""
    for field in ("queues", "claims", "priority_classes"):
        for name in getattr(environment, field):
            if key == f"{OBJECTS[field]}-{name}":
                return f"{field}.{name}"
    return where if key is None else key


def field_of(judgement: Judgement, plan: Plan, experiment: Experiment) -> str:
    """The path of the field that the finding comes from. What the plan does not have comes from a merge patch."""
    finding = judgement.finding
    of_rule = _OF_RULES.get(judgement.rule.code)
    if of_rule is not None and of_rule(plan)[1] == finding.value:
        return of_rule(plan)[0]
    if finding.template is None:
        return finding.where if finding.key is None else _of_object(finding, plan, experiment)
    role = plan.by_name.get(finding.template.role)
    if role is None:
        return "manifest_overrides.job"
    for path, value in _planned(finding, plan, role, experiment):
        if value == finding.value:
            return path
    patch = patch_of(role, plan)
    if _is_place(finding.where):
        if role.overrides:
            return f"{patch}.{in_patch(finding.where, role)}"
        return next(_places_in(plan.manifest_overrides, "manifest_overrides", finding), patch)
    return patch


def _places_in(patch: Mapping[str, object], path: str, finding: Finding) -> Iterator[str]:
    """The paths in the patches of objects that set the place of the finding to its value, for the pods of any role."""
    for key, value in patch.items():
        where = f"{path}.{key}"
        if value == finding.value and where.endswith(f".{finding.where}"):
            yield where
        elif isinstance(value, dict):
            yield from _places_in(value, where, finding)


def _is_place(where: str) -> bool:
    """True if it is a place in what is rendered, and not a word for several of them."""
    return where.startswith(("spec.", "metadata."))


def in_patch(where: str, role: RolePlan) -> str:
    """The place as a patch of the role names it: there the main container is `main` on every operator."""
    containers = mapping(role.overrides.get("spec")).get("containers")
    name, dot, below = where.removeprefix(CONTAINERS).partition(".")
    if where.startswith(CONTAINERS) and isinstance(containers, dict) and name not in containers:
        return f"{CONTAINERS}{defaults.MAIN_CONTAINER}{dot}{below}" if defaults.MAIN_CONTAINER in containers else where
    return where


def patch_of(role: RolePlan, plan: Plan) -> str:
    """The merge patch of the user's from which something in the pods of the role comes; the role itself if there is none, so something is missing."""
    if role.overrides:
        return f"roles.{role.name}.pod_overrides"
    return "manifest_overrides.job" if "job" in plan.manifest_overrides else f"roles.{role.name}"


def _of_object(finding: Finding, plan: Plan, experiment: Experiment) -> str:
    """The field for a place in an object: of the queue or the claim that the experiment brings, or the object's patch."""
    key = str(finding.key)
    if key.startswith(CLAIM) and key.removeprefix(CLAIM) in experiment.storage and not _is_place(finding.where):
        return f"storage.{key.removeprefix(CLAIM)}.{finding.where}"
    for path, value in _of_metadata(finding.where, "", experiment.labels, experiment.annotations):
        if value == finding.value:
            return path
    if not key.startswith(QUEUE):
        return f"manifest_overrides.{key}.{finding.where}"
    field = finding.where.removeprefix("spec.")
    if finding.where == "metadata.name":
        return "queue"
    request = {} if plan.queue.request is None else dict(plan.queue.request)
    # amounts are not shown: they come from the field if it has any
    of_field = bool(request.get(field)) if finding.value is None else request.get(field) == finding.value
    return f"queue.{field}" if of_field else f"manifest_overrides.queue.{finding.where}"


def _planned(finding: Finding, plan: Plan, role: RolePlan, experiment: Experiment) -> Iterator[_Field]:
    """The experiment's fields for the place of a finding, each with its value in the plan."""
    where, own = finding.where, f"roles.{role.name}"
    kind = where.removeprefix("accelerators.")
    if role.accelerators is not None and kind == role.accelerators[0]:
        yield f"{own}.accelerators.{kind}", role.accelerators[1]
    if where in role.resources:
        yield f"{own}.{where}", role.resources[where]
    if where in _OF_PODS:
        yield _OF_PODS[where](plan)
    if where == "spec.serviceAccountName" and plan.service_account is None:
        yield "service_account", _NO_ACCOUNT
    yield from _of_metadata(where, f"{own}.", role.labels, role.annotations)
    if where.startswith("spec.volumes."):
        yield from _volume(where.split(".")[2], role)
    yield from _of_role(where, role, experiment)
    yield from _of_image(where, role)


def _of_role(where: str, role: RolePlan, experiment: Experiment) -> Iterator[_Field]:
    """Fields that a role has, and the experiment for all roles."""
    own, name = experiment.roles[role.name], f"roles.{role.name}"
    _, _, resource = where.partition(".resources.")
    for field in ("requests.", "limits."):
        if resource.removeprefix(field) in own.resources:
            yield f"{name}.resources.{resource.removeprefix(field)}", role.resources[resource.removeprefix(field)]
    label = where.removeprefix("spec.nodeSelector.")
    container, _, variable = where.removesuffix(".value").rpartition(".env.")
    for index, init in enumerate(role.init):
        if container == f"spec.initContainers.{init.name}" and variable in init.env:
            yield (
                f"{role.init_path(index)}.env.{variable}",
                value if isinstance(value := init.env[variable], str) else None,
            )
    for path, holder in ((name, own), ("", experiment)):
        prefix = f"{path}." if path else ""
        if variable in holder.env:
            yield f"{prefix}env.{variable}", value if isinstance(value := holder.env[variable], str) else None
        if label in holder.node_selector:
            yield f"{prefix}node_selector.{label}", holder.node_selector[label]
        if where.startswith("spec.tolerations["):
            for index, toleration in enumerate(holder.tolerations):
                yield f"{prefix}tolerations[{index}]", toleration.operator if toleration.key is None else toleration.key
    if where == "shared_memory":
        yield "shared_memory" if own.shared_memory is None else f"{name}.shared_memory", role.shared_memory


def _of_metadata(where: str, path: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[_Field]:
    for field, written in (("labels", labels), ("annotations", annotations)):
        key = where.removeprefix(f"metadata.{field}.")
        if key in written:
            yield f"{path}{field}.{key}", written[key]


def _of_image(where: str, role: RolePlan) -> Iterator[_Field]:
    if where.endswith(".image"):
        for index, init in enumerate(role.init):
            if where == f"spec.initContainers.{init.name}.image" and init.image is not None:
                yield f"{role.init_path(index)}.image", init.image
        yield role.image_origin, role.image


def _volume(name: str, role: RolePlan) -> Iterator[_Field]:
    """The field from which a volume comes, if it is one of the plan's; the patch of another volume has another name."""
    if name == defaults.SHARED_MEMORY_VOLUME and role.shared_memory is not None:
        yield "shared_memory", {"medium": "Memory", "sizeLimit": role.shared_memory}
    for mount in role.mounts:
        if mount.volume == name:
            yield f"storage.{name}", {"claimName": mount.claim}
