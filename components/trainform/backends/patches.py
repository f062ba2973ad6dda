"""Merge patches of the user: applied in one place, and held to what the plan has decided."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trainform.backends.contract import Backend
from trainform.backends.patch_parts import part_at, without_parts
from trainform.catalog import defaults
from trainform.errors import MASK, Problem, list_names
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest
from trainform.manifests.merge_patch import merge_patch
from trainform.manifests.pods import own_labels, pod_template
from trainform.manifests.shape import ANY_OBJECT, KINDS, POD_TEMPLATE, misshapen
from trainform.plan.model import Plan, RolePlan

# What a merge patch may not touch: Pulumi, the revision and the references between objects hang on them.
IDENTITY = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    *(
        ("metadata", "labels", label)
        for label in (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ENVIRONMENT_LABEL)
    ),
)

# The stack fills these, over what a patch says; and a patch is an input of the component, which state and previews show in clear.
SECRET_CONTENT = ("data", "stringData", "type", "immutable")


def override_key(manifest: Manifest) -> str:
    """The word for the object in `manifest_overrides`: its key, `queue` for the experiment's own queue."""
    return "queue" if manifest.key.startswith("queue-") else manifest.key


def override_paths(plan: Plan, manifest: Manifest) -> list[str]:
    """The user's fields whose merge patches are in the object; those of roles are in the job."""
    key = override_key(manifest)
    roles = [f"roles.{role.name}.pod_overrides" for role in plan.roles if role.overrides] if key == "job" else []
    return [*roles, *([f"manifest_overrides.{key}"] if key in plan.manifest_overrides else [])]


def patched(plan: Plan, manifest: Manifest) -> Manifest:
    """The object with the user's merge patch."""
    patch = plan.manifest_overrides.get(override_key(manifest))
    if patch is None:
        return manifest
    return dataclasses.replace(manifest, body=merge_patch(manifest.body, patch))


@dataclasses.dataclass(frozen=True)
class _Wrong:
    """A place in a patched object, and what is wrong there."""

    where: str
    value: object
    reason: str
    fix: str


_Rule = Callable[[dict[str, Any], dict[str, Any]], Iterable[_Wrong]]
"""Given a merge patch and the patched object: what the patch may not do."""


def check_patches(
    plan: Plan, backend: Backend, rendered: list[Manifest], render: Callable[[Plan], list[Manifest]]
) -> tuple[list[Problem], Plan]:
    """What merge patches may not do, and the plan without these parts of them, so that a wrong patch does not hide what else is wrong.

    `rendered`: the plan's objects before `manifest_overrides`, as `render` makes them of a plan.
    """
    if not plan.overrides:
        return [], plan
    problems: list[Problem] = []
    roles = {role.name: role for role in plan.roles}
    conventions = backend.operator(plan)
    for role in plan.roles:
        if role.overrides:
            found, overrides = _check_pods(plan, role, conventions)
            problems += found
            roles[role.name] = dataclasses.replace(role, overrides=overrides)
    if problems:
        plan = dataclasses.replace(plan, roles=tuple(roles.values()))
        rendered = render(plan)
    problems += _unknown_keys(plan, rendered)
    shapes = backend.shapes(plan)
    remaining: dict[str, Any] = {}
    for manifest in rendered:
        key = override_key(manifest)
        found, patch = _check_object(manifest, plan.manifest_overrides.get(key, {}), shapes.get(key), backend)
        problems += found
        remaining |= {key: patch} if patch else {}
    return problems, dataclasses.replace(plan, manifest_overrides=remaining)


def _check_pods(plan: Plan, role: RolePlan, conventions: Operator) -> tuple[list[Problem], dict[str, Any]]:
    """The problems of a role's patch, and the rest of the patch."""
    group = next(role.groups())

    def own_labels_stay(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Wrong]:
        labels = template["metadata"]["labels"]
        for label, value in own_labels(plan, role, group).items():
            if labels.get(label) != value:
                reason = "is set by trainform itself"
                yield _Wrong(f"metadata.labels.{label}", labels.get(label), reason, "remove it")

    return _check(
        f"roles.{role.name}.pod_overrides",
        role.overrides,
        lambda patch: pod_template(plan, dataclasses.replace(role, overrides=patch), group, conventions),
        (_keeps_shape(POD_TEMPLATE), own_labels_stay),
    )


def _check_object(
    manifest: Manifest, patch: dict[str, Any], shape: Any, backend: Backend
) -> tuple[list[Problem], dict[str, Any]]:
    """The problems of an object's patch, and the rest of the patch. shape: of an object of which the plan has decided something, else None."""
    key = override_key(manifest)

    def plan_stays(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Wrong]:
        for where, reason in () if shape is None else backend.replanned(key, manifest.body, body):
            yield _Wrong(where, None, reason, "write it in the field of the experiment")

    usual = KINDS.get(manifest.body["kind"], ANY_OBJECT)
    return _check(
        f"manifest_overrides.{key}",
        patch,
        lambda patch: merge_patch(manifest.body, patch),
        (_identity_stays, _secret_stays, _keeps_shape(usual if shape is None else shape), plan_stays),
    )


def _check(
    path: str, patch: dict[str, Any], apply: Callable[[dict[str, Any]], dict[str, Any]], rules: tuple[_Rule, ...]
) -> tuple[list[Problem], dict[str, Any]]:
    """The problems of the patch, and the rest of it. A rule may rely on the ones before it, so it looks at a patch that keeps those. What a
    rule finds again after a part was left out is a consequence of that, and no further problem."""
    found_first: dict[_Rule, list[_Wrong]] = {}
    while patch:
        body = apply(patch)
        rule, found = next(((rule, wrong) for rule in rules if (wrong := [*rule(patch, body)])), (None, []))
        if rule is None:
            break
        found_first.setdefault(rule, found)
        patch = without_parts(patch, [part_at(patch, wrong.where, body) for wrong in found])
    wrongs = (wrong for found in found_first.values() for wrong in found)
    return [Problem(f"{path}.{wrong.where}", wrong.value, wrong.reason, wrong.fix) for wrong in wrongs], patch


def _keeps_shape(shape: Any) -> _Rule:
    return lambda patch, body: (
        _Wrong(where, None, reason, "patch only what differs") for where, reason in misshapen(body, shape)
    )


def _identity_stays(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Wrong]:
    for path in IDENTITY:
        value: object = patch
        for part in path:
            if not isinstance(value, dict) or part not in value:
                break
            value = value[part]
        else:
            reason = "is the identity of the object"
            yield _Wrong(".".join(path), value, reason, "remove it; names follow from the plan")


def _secret_stays(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Wrong]:
    for field in SECRET_CONTENT if body.get("kind") == "Secret" else ():
        if field in patch:
            reason = "is the content of a Secret, which the stack makes; a patch is shown in previews and kept in state"
            fix = "remove it, or make a Secret of your own and name it: `ssh: {secret: NAME}`"
            yield _Wrong(field, MASK, reason, fix)


def _unknown_keys(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    known = dict.fromkeys(override_key(manifest) for manifest in manifests)
    for key in plan.manifest_overrides:
        if key not in known:
            yield Problem(
                f"manifest_overrides.{key}", None, "is no object of this experiment", f"known: {list_names(known)}"
            )
