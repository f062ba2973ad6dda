"""From a field that the API server names (`spec.tasks[0].template.spec.containers[1].image`) to the experiment's field
that sets it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from trainform import defaults
from trainform.errors import list_names
from trainform.manifests.manifest import mapping
from trainform.plan.model import Plan
from trainform.spec.layers import patched_paths

MOST_SHOWN = 5  # places that a patch sets
_TOKEN = re.compile(r'\[(?:name=)?"?([^]"]*)"?\]|([^.\[\]]+)')


class Place(NamedTuple):
    """A field of an object by names, items of lists by their `name`. role: of the pod template in which it is, ""
    outside of one. in_pods: the names from there."""

    role: str
    names: tuple[str, ...]
    in_pods: tuple[str, ...]


def place_in(body: dict[str, Any], field: str) -> Place:
    """Return the place of a field in an object. Names that the object does not have are kept."""
    value: Any = body
    role, names, in_pods = "", list[str](), list[str]()
    for key, name in _TOKEN.findall(field):
        word = key or name
        if isinstance(value, list):
            named = {str(mapping(item).get("name", f"[{number}]")): item for number, item in enumerate(value)}
            word = [*named][int(word)] if word.isdigit() and int(word) < len(named) else word
            value = named.get(word)
        else:
            # Volcano's webhook writes `spec.task[0]`
            word = f"{word}s" if isinstance(value, dict) and word not in value and f"{word}s" in value else word
            value = mapping(value).get(word)
        names.append(word)
        in_pods.append(word)
        labels = mapping(mapping(mapping(value).get("metadata")).get("labels"))
        if defaults.ROLE_LABEL in labels and "spec" in value:
            role, in_pods = str(labels[defaults.ROLE_LABEL]), []
    return Place(role, tuple(names), tuple(in_pods))


def experiment_field(plan: Plan, place: Place, role: str) -> str:
    """Return the path of the patch, volume or variable that sets a place; "" if none does. role: of the pods."""
    owner = plan.by_name.get(role)
    if owner is not None:
        found = _path_in(owner.overrides, place.in_pods)
        if found:
            return _written(f"{plan.role_path(role)}.pod_overrides", found)
    found = _path_in(plan.manifest_overrides.get("job", {}), place.names)
    if found:
        return _written("manifest_overrides.job", found)
    mounted = () if owner is None else (mount.volume for mount in owner.mounts)
    if place.in_pods[:2] == ("spec", "volumes") and place.in_pods[2] in mounted:
        return f"storage.{place.in_pods[2]}"
    return _variable(plan, place, role)


def _written(path: str, names: Iterable[str]) -> str:
    return path + "".join(name if name.startswith("[") else f".{name}" for name in names)


def _variable(plan: Plan, place: Place, role: str) -> str:
    """Return the path of the role's variable; init containers have it too."""
    owner = plan.by_name.get(role)
    names = place.in_pods[place.in_pods.index("env") + 1 :] if "env" in place.in_pods else ()
    if owner is None or not names:
        return ""
    inits = (
        f"{owner.init_path(index)}.env.{names[0]}"
        for index, init in enumerate(owner.init)
        if init.name == place.in_pods[2] and names[0] in init.env
    )
    origins = (variable.origin for variable in owner.env if variable.name == names[0])
    return next(inits, next(origins, ""))


def _path_in(patch: Any, names: Sequence[str]) -> list[str]:
    """Return the names as a patch writes them; [] if it does not set the place. A list or {} sets all below it."""
    reached: list[str] = []
    for number, name in enumerate(names):
        if not isinstance(patch, dict) or not patch:
            return [*reached, *names[number:]] if reached else []
        # the operator may have its own name for the main container
        is_main = name not in patch and reached[-1:] == ["containers"] and defaults.MAIN_CONTAINER in patch
        written = defaults.MAIN_CONTAINER if is_main else name
        if written not in patch:  # the name of an item is its key
            return reached if name == "name" and number == len(names) - 1 else []
        reached.append(written)
        patch = patch[written]
    return reached


def set_by_patches(plan: Plan, patches: Iterable[str]) -> str:
    """Return the places that these merge patches set, the first of them."""
    places = list[str]()
    for path in patches:
        first, name = path.split(".")[:2]
        patch = plan.by_name[name].overrides if first == "roles" else plan.manifest_overrides[name]
        places += patched_paths(patch, path)
    return list_names(places, MOST_SHOWN)
