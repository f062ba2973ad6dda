"""The user's merge patches, checked against what the plan decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends import patch_places
from trainform.backends.backend import Backend
from trainform.backends.patch_parts import part_at, sets, without_parts
from trainform.backends.patched_containers import unknown_containers
from trainform.backends.patched_objects import changes
from trainform.backends.refusals import is_able
from trainform.backends.served import object_types, object_values, pod_types, pod_values, user_conventions
from trainform.errors import MASK, Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import RECORD_KEY, Manifest, override_key
from trainform.manifests.pods import own_labels, pod_template
from trainform.manifests.schema import ANY_OBJECT, KINDS, POD_TEMPLATE, violations
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping
from trainform.plan.model import Group, Plan, RolePlan
from trainform.rules.metadata import kept
from trainform.spec.merge_patch import merge_patch

# Fields that a merge patch must not set: Pulumi, the revision and the references between objects depend on them.
FIXED_FIELDS = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    *(
        ("metadata", "labels", label)
        for label in (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ROLE_LABEL, defaults.ENVIRONMENT_LABEL)
    ),
)

# Fields of metadata that a merge patch must not set for other reasons.
LIFE = "the field decides when the object may be deleted, and Pulumi does that"
KEPT_FIELDS = {"ownerReferences": LIFE, "finalizers": LIFE, "generateName": "the plan names every object"}

# The stack sets these fields after the patch. A patch is also an input of the component, which state and previews show as plain text.
SECRET_CONTENT = ("data", "stringData", "type", "immutable")


NO_CONVENTIONS = PodConventions("")
_DECIDED = "remove it: the plan decides this; write {field}"
OF_ROLE = "roles.*."
_OWN_FIELD = "the experiment's own field for it, if there is one"
# The experiment's fields from which the operators' objects have what stands under these keys.
_FIELDS = {
    **dict.fromkeys(("networkTopology", "highestTierAllowed", "highestTierName"), "network.topology"),
    **dict.fromkeys(("minAvailable", "minMember", "minTaskMember"), f"{OF_ROLE}min_available"),
    **dict.fromkeys(("replicas", "parallelism", "completions", "numNodes"), f"{OF_ROLE}replicas"),
    **dict.fromkeys(("backoffLimit", "restartPolicy", "failurePolicy", "podFailurePolicy"), f"{OF_ROLE}restart"),
    "maxRetry": "max_retry",
    "policies": "policies",
    "priorityClassName": "priority_class",
    "queue": "queue",
    "ttlSecondsAfterFinished": "ttl",
}


class _Finding(Struct, frozen=True):
    """A place in a patched object, and what is wrong there. stays: the part is not left out, since the environment's rules may have more to say of
    it."""

    where: str
    value: object
    reason: str
    fix: str
    stays: bool = False


_Checked = tuple[list[Problem], list[Problem], dict[str, Any]]
_Rule = Callable[[dict[str, Any], dict[str, Any]], Iterable[_Finding]]
"""A function from a merge patch and the patched object to what is wrong in the patch."""


def checked(
    plan: Plan, backend: Backend, rendered: list[Manifest], render: Callable[[Plan], list[Manifest]]
) -> tuple[list[Problem], list[Problem], Plan]:
    """The problems of merge patches, and the plan without the invalid parts, so that they do not hide other problems.

    The second list has the problems of parts that stay, since the environment's rules may have more to say of them: names and words that the plan
    decides. What makes other pods than the planned ones stays too (`backends.patched_pods`). rendered: the plan's objects before `manifest_overrides`. render: the function that makes them from a plan.
    """
    problems: list[Problem] = []
    decided: list[Problem] = []
    roles = {role.name: role for role in plan.roles}
    conventions = user_conventions(backend, plan)
    for role in plan.roles:
        for group in _distinct(role):
            patched = roles[role.name]
            if patched.overrides:
                found, _, overrides = _check_pods(plan, patched, group, backend, conventions)
                problems += (problem for problem in found if problem not in problems)
                roles[role.name] = structs.replace(patched, overrides=overrides)
    if problems:
        plan = structs.replace(plan, roles=tuple(roles.values()))
        rendered = render(plan)
    problems += _unknown_keys(plan, rendered)
    schemas = backend.schemas(plan)
    remaining: dict[str, Any] = {}
    for manifest in rendered:
        key = override_key(manifest)
        patch = plan.manifest_overrides.get(key, {})
        found, stays, patch = _check_object(plan, manifest, patch, schemas.get(key), backend)
        problems += found
        decided += stays
        remaining |= {key: patch} if patch else {}
    return problems, decided, structs.replace(plan, manifest_overrides=remaining)


def _distinct(role: RolePlan) -> Iterable[Group]:
    """The role's groups whose pods differ in more than numbers: the replica of rank 0 may have a port that others have not."""
    if not role.overrides:
        return ()
    return {tuple(port.name for port in group.ports): group for group in role.groups()}.values()


def _check_pods(plan: Plan, role: RolePlan, group: Group, backend: Backend, conventions: PodConventions) -> _Checked:
    """As `_check`, of a role's patch, in the pods of a group. conventions: for pods as users see them."""

    def keeps_own_labels(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Finding]:
        labels, own = template["metadata"]["labels"], own_labels(plan, role, group)
        for label, value in own.items():
            if labels.get(label) != value:
                reason = "the key is set by trainform itself"
                yield _Finding(f"metadata.labels.{label}", labels.get(label), reason, "remove it")
        yield from (found for found in _keeps_own_keys(patch, template) if found.where not in _places_of(own))

    def names_containers(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Finding]:
        for where, reason, fix in unknown_containers(patch, rendered({})["spec"]):
            yield _Finding(where, None, reason, fix)

    def has_types(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Finding]:
        pods = rendered(patch, conventions)
        yield from _found(patch_places.in_its_place(pod_types(backend, plan, pods, patch)), patch, pods)

    def has_values(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Finding]:
        before, after = rendered({}, conventions), rendered(patch, conventions)
        mistakes = _made_by_patch(lambda pods: pod_values(backend, plan, role, pods, patch), before, after)
        yield from _found(mistakes, patch, after)

    def keeps_containers(patch: dict[str, Any], template: dict[str, Any]) -> Iterator[_Finding]:
        for change in changes(rendered({}), template, [], []):
            if change.where.startswith("spec."):
                yield _Finding(
                    change.where, None, change.reason, "patch a container by its name, and add others beside it"
                )

    def rendered(patch: dict[str, Any], conventions: PodConventions = NO_CONVENTIONS) -> dict[str, Any]:
        return pod_template(plan, structs.replace(role, overrides=patch), group, conventions)

    return _check(
        f"roles.{role.name}.pod_overrides",
        role.overrides,
        rendered,
        (names_containers, has_types, _satisfies(POD_TEMPLATE), keeps_own_labels, keeps_containers),
        has_values,
    )


def _check_object(plan: Plan, manifest: Manifest, patch: dict[str, Any], schema: Any, backend: Backend) -> _Checked:
    """As `_check`, of an object's patch. schema: None for an object that is the same for every operator."""
    key = override_key(manifest)

    def keeps_the_selector(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
        of_patched, of_plan = (mapping(each.get("spec")).get("selector") for each in (body, manifest.body))
        if body["kind"] == "Service" and of_patched != of_plan:
            reason = "the plan decides which pods a Service has: with another selector it takes in those of other jobs"
            yield _Finding("spec.selector", None, reason, "remove it")

    def keeps_the_plan(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
        yield from (
            _Finding(change.where, None, change.reason, _decided(backend, change.where), stays=change.is_word)
            for change in backend.override_conflicts(plan, key, manifest.body, body)
        )

    def has_types(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
        unknown = {where: (why, fix) for where, why, fix in patch_places.unknown_items(patch, manifest.body)}
        yield from (_Finding(where, None, *told) for where, told in unknown.items())
        found = _found(patch_places.in_the_spec(object_types(backend, body, patch), body), patch, body)
        yield from (each for each in found if not each.where.startswith(tuple(f"{where}." for where in unknown)))

    def has_values(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
        mistakes = _made_by_patch(lambda each: object_values(backend, plan, key, each, patch), manifest.body, body)
        yield from _found(mistakes, patch, body)

    usual = KINDS.get(manifest.body["kind"], ANY_OBJECT)
    return _check(
        f"manifest_overrides.{key}",
        patch,
        lambda patch: merge_patch(manifest.body, patch),
        (
            _keeps_fixed_fields,
            _keeps_own_keys,
            _keeps_secret_content,
            keeps_the_selector,
            has_types,
            _satisfies(usual if schema is None else schema),
            keeps_the_plan,
        ),
        has_values,
    )


def _decided(backend: Backend, where: str) -> str:
    """What to do with a patch of a place that the plan decides."""
    field = _FIELDS.get(where.rpartition(".")[2])
    if field is None or not is_able(backend, field):
        return _DECIDED.format(field=_OWN_FIELD)
    of_role = " of the role" if field.startswith(OF_ROLE) else ""
    return _DECIDED.format(field=f"`{field.removeprefix(OF_ROLE)}`{of_role}")


def _check(
    path: str,
    patch: dict[str, Any],
    apply: Callable[[dict[str, Any]], dict[str, Any]],
    rules: tuple[_Rule, ...],
    last: _Rule,
) -> _Checked:
    """The problems of the patch, those of parts that stay, and the patch without the others. last: a rule of which the findings can stay in it,
    since they keep nobody from reading the rest.

    A rule may rely on the rules before it, so it checks a patch that satisfies those. If a rule, or one before it, finds something again after
    parts were removed, the removal is the cause, and that is no further problem.
    """
    found_first: dict[_Rule, list[_Finding]] = {}
    while patch:
        body = apply(patch)
        rule, found = next(((rule, found) for rule in rules if (found := [*rule(patch, body)])), (None, []))
        if rule is None:
            break
        if found_first.keys().isdisjoint(rules[rules.index(rule) :]):
            found_first[rule] = found
        wrong = [part_at(patch, finding.where, body) for finding in found if not finding.stays]
        if not wrong:
            break
        patch = without_parts(patch, wrong)
    problems: dict[bool, list[Problem]] = {False: [], True: []}
    of_last = [*last(patch, apply(patch))]
    for finding in (finding for found in (*found_first.values(), of_last) for finding in found):
        problems[finding.stays].append(Problem(f"{path}.{finding.where}", finding.value, finding.reason, finding.fix))
    return problems[False], problems[True], patch


def _made_by_patch(
    check: Callable[[dict[str, Any]], Iterable[Mistake]], before: dict[str, Any], after: dict[str, Any]
) -> Iterator[Mistake]:
    """What is wrong with the patched object and was not wrong before: that is told at the experiment's field."""
    found = [*check(after)]
    known = [*check(before)] if found else []
    return (mistake for mistake in found if mistake not in known)


def _found(mistakes: Iterable[Mistake], patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
    """What the server would refuse, each at the place of it that the patch sets."""
    for mistake in mistakes:
        where, value, reason, fix, others = mistake
        set_here = next((place for place in (where, *others) if sets(patch, place, body)), where)
        taken = None if set_here == where else patch_places.replaced_list(patch, part_at(patch, set_here, body))
        set_here, value = patch_places.item_as_written(patch, set_here, value, body)
        yield _Finding(set_here, value, reason, fix if taken is None else taken)


def _satisfies(schema: Any) -> _Rule:
    def rule(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
        for where, reason in violations(body, schema):
            wanted = reason.removeprefix("must be ")
            fix = "patch only what differs" if wanted == reason else f"write {wanted} there, or patch only what differs"
            fix = next(filter(None, [patch_places.short_list(patch, part_at(patch, where, body))]), fix)
            yield _Finding(where, None, f"the patched field {reason}", fix)

    return rule


def _keeps_fixed_fields(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
    for path in FIXED_FIELDS:
        value: object = patch
        for part in path:
            if not isinstance(value, dict) or part not in value:
                break
            value = value[part]
        else:
            reason = "the field identifies the object, and the plan decides it"
            yield _Finding(".".join(path), value, reason, "remove it")
    for field, reason in KEPT_FIELDS.items():
        if field in mapping(patch.get("metadata")):
            yield _Finding(f"metadata.{field}", None, reason, "remove it")


def _keeps_own_keys(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
    for field in ("labels", "annotations"):
        for key, value in mapping(mapping(patch.get("metadata")).get(field)).items():
            reason = kept(key)
            if reason is not None:
                yield _Finding(f"metadata.{field}.{key}", value, reason, "remove it, or choose another key")


def _places_of(labels: Iterable[str]) -> set[str]:
    return {f"metadata.labels.{label}" for label in labels}


def _keeps_secret_content(patch: dict[str, Any], body: dict[str, Any]) -> Iterator[_Finding]:
    for field in SECRET_CONTENT if body.get("kind") == "Secret" else ():
        if field in patch:
            reason = "the stack makes the content of the Secret, and previews and the state show a patch as plain text"
            fix = "remove it, or make a Secret of your own and name it: `ssh: {secret: NAME}`"
            yield _Finding(field, MASK, reason, fix)


def _unknown_keys(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    known = dict.fromkeys(override_key(manifest) for manifest in manifests)
    for key in plan.manifest_overrides:
        if key == RECORD_KEY:
            reason = "the object is the record of what is deployed, and trainform alone writes it"
            yield Problem(f"manifest_overrides.{key}", None, reason, "remove the patch")
        elif key not in known:
            reason = "the experiment has no object of this name"
            yield Problem(f"manifest_overrides.{key}", None, reason, patch_places.object_meant(key, known))
