"""What the plan says of a job's pods, and merge patches that would make something else of it.

The pods that the operator's controller makes of the rendered objects (`Backend.pods`) are made with the user's patches and without them. Where what the
plan says of a pod differs (`backends.pod_differences`), the patch that does it is found: by its path if it sets the very place, else by leaving parts out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.patch_parts import Part, leaves, only, part_that_sets, value_at, words, words_in
from trainform.backends.patched_objects import is_template
from trainform.backends.paths import Place, named_items
from trainform.backends.pod_differences import (
    RESTART,
    Difference,
    Made,
    Stated,
    differences,
    fix_of,
    reason_of,
    settable,
)
from trainform.errors import InputError, Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest, override_key
from trainform.manifests.pods import pod_template
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.merge_patch import merge_patch

Render = Callable[[Plan], list[Manifest]]
"""A function that makes the objects of a plan."""
_Patches = dict[str, dict[str, Any]]
_Unit = tuple[str, Part]  # the path of a field with a patch, and the part of the patch
_MOST = 10
"""The number of parts of patches that are looked for by leaving others out; each takes a few times to render the job."""


class _Layer(Struct, frozen=True):
    """The patches of one kind. patches: by the path of the user's field. with_patches: the plan with other ones in their place. place: the
    path of a field, and the place in its patch, for a place in a pod. target: what the patch of a field is laid over."""

    patches: _Patches
    with_patches: Callable[[_Patches], Plan]
    place: Callable[[Difference], tuple[str, Place] | None]
    target: Callable[[str], dict[str, Any]]

    def setter(self, difference: Difference) -> tuple[_Unit, Place] | None:
        """The part of a patch that sets the place of the difference, and the rest of the place, which is below the part; None if no patch does."""
        target = self.place(difference)
        part = None if target is None else part_that_sets(self.patches.get(target[0], {}), target[1])
        return None if target is None or part is None else ((target[0], part), target[1][len(part) :])

    def words(self) -> frozenset[str]:
        """The keys in the patches, and the names in their lists."""
        return frozenset(words_in([*self.patches.values()]))

    def units(self) -> list[_Unit]:
        """Everything that the patches set."""
        return [(field, part) for field, patch in self.patches.items() for part in leaves(patch, self.target(field))]

    def with_units(self, units: list[_Unit]) -> Plan:
        """The plan with these of the units alone."""
        kept = {field: [part for name, part in units if name == field] for field in self.patches}
        return self.with_patches({field: only(self.patches[field], kept[field]) for field in self.patches})


def problems(plan: Plan, backend: Backend, render: Render, environment: Environment) -> list[Problem]:
    """A problem for each part of a patch with which the job's pods are no longer the planned ones. The patches satisfy the schemas, and leave
    objects what they are outside of pods."""
    stated = Stated.of(plan, backend.conventions(plan), environment)
    plan = with_few_pods(plan, 1)
    bare = structs.replace(_with_roles(plan, {}), manifest_overrides={})
    of_roles = structs.replace(plan, manifest_overrides={})
    found: list[Problem] = []
    before = _made(backend, bare, render)
    for layer in (_roles(bare, of_roles, backend), _objects(of_roles, plan, render)):
        if layer.patches:
            whole = layer.with_patches(layer.patches)
            after = _made(backend, whole, render)
            found += _problems(
                layer,
                stated,
                before,
                after,
                lambda patched: _made(backend, patched, render),
                backend.own_restarts(plan),
            )
            before = after
    return found


def _problems(
    layer: _Layer,
    stated: Stated,
    before: Made,
    after: Made,
    made_of: Callable[[Plan], Made],
    own_restarts: Collection[str],
) -> Iterator[Problem]:
    told: dict[_Unit, Difference] = {}
    hidden = False
    for difference in differences(stated, before, after):
        setter = layer.setter(difference)
        if setter is None:
            hidden = True
        elif difference.place != RESTART or _value(layer, setter[0]) not in own_restarts:
            told.setdefault(setter[0], difference)
    items = _Items()
    for difference in settable(after, layer.words()):
        setter = layer.setter(difference)
        if setter is not None and not _is_heard(_value(layer, setter[0]), setter[1], difference, own_restarts, items):
            told.setdefault(setter[0], difference)
    if hidden:
        rest = [
            unit for unit in layer.units() if not any(_within(unit, known) or _within(known, unit) for known in told)
        ]
        told |= _left_out(rest, lambda units: differences(stated, before, made_of(layer.with_units(units))))
    for (field, part), difference in told.items():
        yield Problem(f"{field}.{words(part)}", None, reason_of(difference), fix_of(difference, part[-1], stated.main))


def _value(layer: _Layer, unit: _Unit) -> Any:
    return value_at(layer.patches[unit[0]], unit[1])


class _Items:
    """Lists by the names of their items. Each list is read once, and not once for each of its items."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, dict[str, Any] | None]] = {}

    def of(self, value: Any) -> dict[str, Any] | None:
        """As `named_items`. The value is kept, so that no other one gets its number."""
        if id(value) not in self._known:
            self._known[id(value)] = value, named_items(value)
        return self._known[id(value)][1]


def _is_heard(value: Any, below: Place, found: Difference, own_restarts: Collection[str], known: _Items) -> bool:
    """True if the pod has what the patch sets: another value there is the operator's. below: the place in a value that takes the place of a whole list;
    what is not in it is not set."""
    for word in below:
        items = known.of(value)
        if items is None or word not in items:
            return True
        value = items[word]
    is_restart = found.place == RESTART and value in own_restarts
    return is_restart or merge_patch(found.after, value) == found.after


def _within(unit: _Unit, other: _Unit) -> bool:
    return unit[0] == other[0] and unit[1][: len(other[1])] == other[1]


def _left_out(units: list[_Unit], found: Callable[[list[_Unit]], Iterator[Difference]]) -> dict[_Unit, Difference]:
    """The units that change something at another place than their own: without them, nothing does. Each is the last of the fewest first units that
    do."""
    told: dict[_Unit, Difference] = {}
    while len(told) < _MOST:
        difference = next(found(units), None)
        if difference is None:
            break
        fine, broken = 0, len(units)
        while broken - fine > 1:
            middle = (fine + broken) // 2
            at_middle = next(found(units[:middle]), None)
            if at_middle is None:
                fine = middle
            else:
                broken, difference = middle, at_middle
        told[units.pop(broken - 1)] = difference
    return told


def _made(backend: Backend, plan: Plan, render: Render) -> Made:
    """What the operator makes of the job; nothing where only the cluster knows it."""
    try:
        return Made(*backend.pods(plan, render(plan)))
    except InputError:
        return Made([], {})


def with_few_pods(plan: Plan, least: int = 0) -> Plan:
    """The plan with two pods at most for each template: pods of one template differ in their index alone. least: 1 if there is a pod of each,
    since the template of a role without pods must be right too."""
    roles = []
    for role in plan.roles:
        few = role.replicas if role.per_replica else max(least, min(role.replicas, 2))
        roles.append(structs.replace(role, replicas=few, min_available=min(role.min_available, few)))
    nodes = sum(role.replicas for role in roles if role.ranked)
    processes = nodes * (plan.world.processes // max(plan.world.nodes, 1))
    world = structs.replace(plan.world, nodes=nodes, processes=processes)
    return structs.replace(plan, roles=tuple(roles), world=world)


def _with_roles(plan: Plan, patches: Mapping[str, dict[str, Any]]) -> Plan:
    """The plan with these patches of pods, by role, and no others."""
    roles = (structs.replace(role, overrides=patches.get(role.name, {})) for role in plan.roles)
    return structs.replace(plan, roles=tuple(roles))


def _roles(bare: Plan, plan: Plan, backend: Backend) -> _Layer:
    """The patches of roles. They call the main container `main` on every operator."""
    fields = {f"roles.{role.name}.pod_overrides": role for role in plan.roles if role.overrides}
    main = backend.conventions(plan).container

    def place(difference: Difference) -> tuple[str, Place] | None:
        words = list(difference.place)
        if words[:3] == ["spec", "containers", main]:
            words[2] = defaults.MAIN_CONTAINER
        field = f"roles.{difference.role}.pod_overrides"
        return (field, tuple(words)) if field in fields else None

    return _Layer(
        {field: role.overrides for field, role in fields.items()},
        lambda patches: _with_roles(bare, {fields[field].name: patch for field, patch in patches.items()}),
        place,
        lambda field: pod_template(
            bare, bare.by_name[fields[field].name], next(fields[field].groups()), PodConventions("")
        ),
    )


def _objects(of_roles: Plan, plan: Plan, render: Render) -> _Layer:
    """The patches of objects."""
    prefix = "manifest_overrides."
    templates: dict[tuple[str, str | None], tuple[str, Place]] | None = None

    def place(difference: Difference) -> tuple[str, Place] | None:
        nonlocal templates
        if templates is None:
            templates = {labels: found for manifest in render(of_roles) for labels, found in _templates(manifest)}
        found = templates.get((difference.role, difference.replica), templates.get((difference.role, None)))
        return None if found is None else (f"{prefix}{found[0]}", (*found[1], *difference.place))

    return _Layer(
        {f"{prefix}{key}": patch for key, patch in plan.manifest_overrides.items()},
        lambda patches: structs.replace(
            of_roles, manifest_overrides={field.removeprefix(prefix): patch for field, patch in patches.items()}
        ),
        place,
        lambda field: next(made.body for made in render(of_roles) if override_key(made) == field.removeprefix(prefix)),
    )


def _templates(manifest: Manifest) -> Iterator[tuple[tuple[str, str | None], tuple[str, Place]]]:
    """Role and replica of each pod template in the object, with the object's key and the template's place."""
    for place, template in _found(manifest.body, ()):
        labels = template["metadata"].get("labels", {})
        role = labels.get(defaults.ROLE_LABEL)
        if role is not None:
            yield (role, labels.get(defaults.REPLICA_LABEL)), (override_key(manifest), place)


def _found(value: Any, place: Place) -> Iterator[tuple[Place, dict[str, Any]]]:
    if is_template(value):
        yield place, value
        return
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = ((str(item.get("name", index)), item) for index, item in enumerate(value) if isinstance(item, dict))
    for name, item in items:
        yield from _found(item, (*place, name))
