"""Rules on the user's merge patches: names and types, and what the plan owns. The server judges the rest.

Only an experiment with patches imports this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.admission import GROUP_ANNOTATION, SCHEDULER, TASK_ANNOTATION
from trainform.backends.backend import Backend, Place
from trainform.backends.owned import (
    ROLES,
    SECRET_FIELDS,
    Change,
    OwnedOfPods,
    object_changes,
    pod_changes,
    pod_templates,
    value_at,
)
from trainform.backends.refusals import is_able
from trainform.errors import MASK, Problem, list_names, shorten
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import RECORD_KEY, Manifest, override_key
from trainform.manifests.models import KINDS, METADATA, POD_TEMPLATE, Violation, violations
from trainform.manifests.pod_types import PodTemplate
from trainform.manifests.pods import user_template
from trainform.manifests.templates import DEFAULT_SCHEDULER, Template
from trainform.plan.launch.launch import SCRIPT_VARIABLES
from trainform.plan.model import Group, Plan, RolePlan
from trainform.plan.variables import VARIABLES
from trainform.spec.environment import Environment
from trainform.spec.layers import merge_patch
from trainform.spec.names import did_you_mean
from trainform.spec.read import join_path

_OF_ROLE = "roles.*."
_FIXES = {
    "args": "remove it, and write the words in the field of the launcher or of the role",
    "command": "remove it, and write the words in the field of the launcher or of the role",
    "env": "remove it, or write it in `env`",
    "hostNetwork": "remove it, and write `network: {host: true}`",
    "nodeName": "remove it; choose nodes by `node_selector`",
    "ports": "remove it, and choose the number by `network.port`",
    "resources": "remove it, and write `accelerators`, `cpu`, `memory` or `resources` of the role",
    "restartPolicy": "remove it, and write `restart`",
}
_SECRET_FIX = "remove it, or make a Secret of your own and name it: `ssh: {secret: NAME}`"  # noqa: S105 -- no password


class _Rules(Struct, frozen=True):
    """The rules for the patches of a plan. devices: resources that count as accelerators."""

    plan: Plan
    backend: Backend
    conventions: PodConventions
    devices: frozenset[str]

    def of_role(self, role: RolePlan, group: Group) -> tuple[list[Problem], dict[str, Any]]:
        """Return the problems of `pod_overrides`, and the patch without parts that limits cannot judge."""

        def template(patch: dict[str, Any]) -> PodTemplate:
            return user_template(self.plan, structs.replace(role, overrides=patch), group, self.conventions)

        before, after = template({}), template(role.overrides)
        found = [*violations(after, POD_TEMPLATE)]
        patch = _valid(role.overrides, found)
        changes = pod_changes(role.name, before, template(patch), self._owned(role))
        return self._result(f"roles.{role.name}.pod_overrides", found, patch, changes)

    def of_object(self, key: str, manifest: Manifest) -> tuple[list[Problem], dict[str, Any]]:
        """Return the problems of the patch of an object, and the patch without parts that limits cannot judge."""
        patch, body = self.plan.manifest_overrides[key], manifest.body
        patched = merge_patch(body, patch)
        found: list[Violation] = []
        if body["kind"] in KINDS:
            found += violations(patched, body["kind"])
        else:
            found += violations(patched.get("metadata"), METADATA, ("metadata",))
        templates = [*pod_templates(body)]
        for place, _ in templates:
            after = value_at(patched, place)
            if after is not None:
                found += violations(after, POD_TEMPLATE, place)
        valid = _valid(patch, found)
        patched = merge_patch(body, valid)
        changes = [*object_changes(manifest, patched, self.backend.READS)]
        if body["kind"] == "Secret":
            changes = [
                Change((field,), None, None, is_secret=True) for field in SECRET_FIELDS if field in patch
            ] + changes
        for place, template in templates:
            after = value_at(patched, place)
            role = self.plan.by_name.get(Template(1, 1, template).role)
            is_removed = after is None or any(place[: len(each.place)] == each.place for each in changes)
            if role is not None and not is_removed:
                inside = pod_changes(role.name, template, after, self._owned(role))
                changes += [structs.replace(each, place=(*place, *each.place)) for each in inside]
        return self._result(f"manifest_overrides.{key}", found, valid, changes)

    def _owned(self, role: RolePlan) -> OwnedOfPods:
        by_volcano = self.plan.admission == defaults.VOLCANO
        contract = {variable.name for variable in VARIABLES[self.plan.launcher]}
        contract.update(name for names in SCRIPT_VARIABLES[self.plan.launcher] for name in names.split(", "))
        gang = [GROUP_ANNOTATION, TASK_ANNOTATION] if by_volcano else []
        return OwnedOfPods(
            variables=frozenset(contract if role.launched else ()),
            by_operator=(self.conventions.of(role) if role.command else self.conventions).appended
            | self.backend.POD_KEYS
            | {*gang},
            storage=frozenset(mount.volume for mount in role.mounts),
            devices=self.devices,
            scheduler=SCHEDULER if by_volcano else DEFAULT_SCHEDULER,
        )

    def _result(
        self, path: str, found: list[Violation], valid: dict[str, Any], changes: Iterable[Change]
    ) -> tuple[list[Problem], dict[str, Any]]:
        """valid: the patch without the parts of `found`. changes: what it changes of the plan's own."""
        problems = [Problem(f"{path}.{join_path(each.place)}", None, each.reason, each.fix) for each in found]
        parts: dict[Place, Change] = {}
        for change in changes:
            if change.after not in self.backend.own_restarts(self.plan):
                parts.setdefault(part_that_sets(valid, change.place), change)
        for part, change in parts.items():
            where = ".".join(part or change.place)
            value = MASK if change.is_secret else None
            problems.append(Problem(f"{path}.{where}", value, _reason(change), _fix(change, part, self.backend)))
        return problems, without_parts(valid, [part for part, change in parts.items() if not change.is_readable])


def _rules(plan: Plan, backend: Backend, environment: Environment) -> _Rules:
    devices = frozenset(kind.resource for kind in environment.accelerators.values())
    return _Rules(plan, backend, backend.conventions(plan), devices)


def check_roles(plan: Plan, backend: Backend, environment: Environment) -> tuple[Plan, list[Problem]]:
    """Return the problems of `pod_overrides`, and the plan without parts that limits cannot judge. Nothing is rendered
    yet."""
    rules = _rules(plan, backend, environment)
    problems: list[Problem] = []
    roles = []
    for role in plan.roles:
        patch = role.overrides
        for group in _distinct_groups(role) if patch else ():
            found, patch = rules.of_role(structs.replace(role, overrides=patch), group)
            problems += found
        roles.append(structs.replace(role, overrides=patch))
    return structs.replace(plan, roles=tuple(roles)), [*dict.fromkeys(problems)]


def check_objects(
    plan: Plan, backend: Backend, rendered: Iterable[Manifest], environment: Environment
) -> tuple[Plan, list[Problem]]:
    """Return the same for `manifest_overrides`. rendered: the plan's objects without them."""
    rules = _rules(plan, backend, environment)
    manifests = {override_key(manifest): manifest for manifest in rendered}
    problems = [*_unknown_keys(plan, manifests)]
    remaining: dict[str, Any] = {}
    for key in plan.manifest_overrides:
        if key in manifests and key != RECORD_KEY:
            found, kept = rules.of_object(key, manifests[key])
            problems += found
            remaining |= {key: kept} if kept or not found else {}
    return structs.replace(plan, manifest_overrides=remaining), problems


def _distinct_groups(role: RolePlan) -> Iterable[Group]:
    """Return the role's groups whose pods differ in more than numbers: rank 0 may have a port that others do not
    have."""
    return {tuple(port.name for port in group.ports): group for group in role.groups()}.values()


def _reason(change: Change) -> str:
    """Return why the patch must not change the place. A variable's value may be a secret, so it is not shown."""
    name = change.place[-1]
    verb = "removes" if change.after is None else "adds" if change.before is None else "changes"
    of_role = f" ({'.'.join(change.place)} of the role {change.role})" if change.role else ""
    if change.is_secret:
        return "the stack makes the content of the Secret, and previews and the state show a patch as plain text"
    if change.place[-2:-1] in (("labels",), ("annotations",)):
        return f"the key is set by {'the operator' if change.by_operator else 'trainform'} itself"
    if "env" in change.place and change.by_operator:
        pods = f"pods of the role {change.role}"
        return f"the operator itself sets the variable {name} in {pods}, so the patch has no effect"
    if "env" in change.place and change.role:
        return f"the patch {verb} the variable {name} of the role {change.role}, and the plan sets it"
    if isinstance(change.before, dict | list) or isinstance(change.after, dict | list):
        return f"the patch {verb} a part that the plan owns{of_role}"
    after, before = _shown(change.after, "empty"), _shown(change.before, "none")
    return f"the patch makes the value {after}, and the plan has {before}{of_role}"


def _shown(value: Any, nothing: str) -> str:
    """Return the value as files spell it; of a script or another long text its first line."""
    first, newline, _ = str(value).partition("\n") if isinstance(value, str) else (value, "", "")
    return nothing if value is None else f"{shorten(first)}{'…' if newline else ''}"


def _fix(change: Change, part: Place, backend: Backend) -> str:
    if change.is_secret:
        return _SECRET_FIX
    if len(part) < len(change.place) and part and part[-1] in ("env", "ports", "volumeMounts", "volumes", "containers"):
        word = part[-1]
        return (
            f"write a mapping of names, such as `{word}: {{NAME: …}}`: a list in a merge patch replaces the whole list"
        )
    if change.place[-2:-1] in (("labels",), ("annotations",)):
        return "remove it, or choose another key"
    if change.role:
        words = reversed(change.place)
        return next((_FIXES[word] for word in words if word in _FIXES), "remove it")
    if change.field == ROLES:
        return "remove it, and write a role in `roles`: the plan has a group of pods for each"
    if not change.field or not is_able(backend, change.field):
        return "remove it: the plan decides this"
    field, of_role = change.field.removeprefix(_OF_ROLE), " of the role" if change.field.startswith(_OF_ROLE) else ""
    return f"remove it, and write `{field.replace('storage.*.', '')}`{of_role}"


def _unknown_keys(plan: Plan, known: Collection[str]) -> Iterator[Problem]:
    for key in plan.manifest_overrides:
        path = f"manifest_overrides.{key}"
        if key == RECORD_KEY:
            reason = "the object is the record of what is deployed, and trainform alone writes it"
            yield Problem(path, None, reason, "remove the patch")
        elif key not in known:
            fix = did_you_mean(key.lower(), known) or f"known: {list_names([*known])}"
            if key in ("metadata", "spec"):
                fix = f"write it below the key of an object: `manifest_overrides: {{job: {{{key}: …}}}}`"
            yield Problem(path, None, "the experiment has no object of this name", fix)


def part_that_sets(patch: dict[str, Any], place: Sequence[str | int]) -> Place:
    """Return the part of a patch that sets the place of the patched object: the place itself, or a value above it."""
    part: list[str] = []
    value: Any = patch
    for word in map(str, place):
        if not isinstance(value, dict) or word not in value:
            break
        part.append(word)
        value = value[word]
    return tuple(part)


def _valid(patch: dict[str, Any], found: Iterable[Violation]) -> dict[str, Any]:
    return without_parts(patch, [part_that_sets(patch, each.place) for each in found])


def without_parts(patch: dict[str, Any], parts: Iterable[Place]) -> dict[str, Any]:
    """Return the patch without these parts, and without mappings that become empty by that."""
    parts = [*parts]
    if () in parts:
        return {}
    kept: dict[str, Any] = {}
    for name, value in patch.items():
        below = [part[1:] for part in parts if part[0] == name]
        rest = without_parts(value, below) if below else value
        if rest or not below:
            kept[name] = rest
    return kept
