"""What is meant by a merge patch that has something at another place than where it belongs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from trainform.backends.patch_parts import Part, part_at, value_at
from trainform.errors import MASK, is_secret_item, list_names
from trainform.manifests.served.mistake import NO_FIELD, Mistake
from trainform.manifests.shapes import mapping, mappings
from trainform.spec.merge_patch import named_items
from trainform.spec.unknown_keys import TEMPLATES, WHAT_IT_HOLDS, of_pods

_OF_PODS = re.compile(r"(|spec\.|spec\.(?:initContainers|containers)(?:\[\d+\]|\.[a-z0-9-]+)\.)([A-Za-z]+)")
_OF_OBJECTS = ("metadata", "spec")


def in_its_place(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Mistakes in the pods of a role; of a field that pods have elsewhere, with the patch that sets it there."""
    for mistake in mistakes:
        found = _OF_PODS.fullmatch(mistake.where) if mistake.reason == NO_FIELD else None
        if found is not None and mistake.where in TEMPLATES:
            yield mistake._replace(fix=WHAT_IT_HOLDS)
        else:
            elsewhere = None if found is None else _elsewhere(found[1], found[2])
            yield (
                mistake
                if elsewhere is None
                else mistake._replace(fix=f"write it as a patch of the role: `{elsewhere}`")
            )


def _elsewhere(above: str, key: str) -> str | None:
    """The patch that sets the field at another place than this one; None if there is none."""
    patch = of_pods().get(key, "").format(key=key)
    is_here = above != "" and ("ontainers" in above) == ("containers: {main" in patch)
    return patch if patch and not is_here else None


def object_meant(key: str, known: Iterable[str]) -> str:
    """What to write in the place of a key that no object has."""
    names = [*known]
    near = difflib.get_close_matches(key.lower(), names, 1)
    if near:
        return f"did you mean {near[0]}?"
    if key in _OF_OBJECTS and "job" in names:
        return f"write it below the key of an object: `manifest_overrides: {{job: {{{key}: …}}}}`; known: {list_names(names)}"
    return f"known: {list_names(names)}"


def in_the_spec(mistakes: Iterable[Mistake], body: dict[str, Any]) -> Iterator[Mistake]:
    """Mistakes in an object; of a field that its spec has, with the place there."""
    for mistake in mistakes:
        is_above = mistake.reason == NO_FIELD and mistake.where in mapping(body.get("spec"))
        yield mistake._replace(fix=f"write it below `spec`: `spec: {{{mistake.where}: …}}`") if is_above else mistake


def unknown_items(patch: dict[str, Any], rendered: dict[str, Any], above: str = "") -> Iterator[tuple[str, str, str]]:
    """Place, reason and fix of each name in the place of a task, a replicated job or the like that the object does not have."""
    for key, value in patch.items():
        target = rendered.get(key)
        known = _with_templates(target)
        if isinstance(value, dict) and known:
            for name in (name for name in value if name not in known):
                near = difflib.get_close_matches(name, known, 1)
                reason = "the object has no item of this name, and the plan decides which there are"
                yield (
                    f"{above}{key}.{name}",
                    reason,
                    f"did you mean {near[0]}?" if near else f"known: {list_names(known)}",
                )
        elif isinstance(value, dict) and isinstance(target, dict):
            yield from unknown_items(value, target, f"{above}{key}.")


def _with_templates(value: Any) -> list[str]:
    """The names of the items, if each has a pod template, or a template of what has pods."""
    items = mapping(value) or {str(item["name"]): item for item in (mappings(value) if named_items(value) else ())}
    return [*items] if all("template" in mapping(item) for item in items.values()) else []


def as_mapping(word: str, name: str = "NAME") -> str:
    """The fix of a list that takes the place of a rendered one."""
    return f"write a mapping of names there, such as `{word}: {{{name}: …}}`: a list in a merge patch takes the place of the whole list"


def short_list(patch: dict[str, Any], part: Part) -> str | None:
    """The fix if the part of the patch is in a list of named items, which lack what they have in the rendered one; None if it is in none."""
    index = next((index for index, key in enumerate(part) if isinstance(key, int)), 0)
    if index == 0:
        return None
    item = value_at(patch, part[: index + 1])
    return as_mapping(str(part[index - 1]), str(item["name"])) if isinstance(item, dict) and "name" in item else None


def replaced_list(patch: dict[str, Any], part: Part) -> str | None:
    """The fix if the part of the patch is a list, which is wrong for what it lacks of the rendered one; None if it is no list."""
    return as_mapping(str(part[-1])) if part and isinstance(value_at(patch, part), list) else None


def item_as_written(patch: dict[str, Any], where: str, value: object, body: dict[str, Any]) -> tuple[str, object]:
    """Place and value of a mistake in an item of a list as the user knows them: in a mapping of names the item is under its name, so that a password
    is known by it; of a list a word is not shown that is a secret by the words before it."""
    if not where.endswith("]"):
        return where, value
    part = part_at(patch, where, body)
    held = value_at(patch, part)
    if isinstance(held, dict) and not isinstance(part[-1], int):
        name = next((name for name, item in held.items() if item == value and not isinstance(item, dict)), None)
        return where if name is None else f"{where.rpartition('[')[0]}.{name}", value
    items = value_at(patch, part[:-1]) if part and isinstance(part[-1], int) else None
    is_secret = isinstance(items, list) and is_secret_item(items, int(part[-1]))
    return where, MASK if is_secret else value
