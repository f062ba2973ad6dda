"""Names and types of Kubernetes' own kinds, from lightkube's models: a first look at a merge patch.

The models are newer than many clusters. So this finds spelling mistakes without a cluster, and the API server decides.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from msgspec import Struct

from trainform.errors import list_names
from trainform.manifests.manifest import mapping, mappings

Part = tuple[str | int, ...]
"""The keys and list indices that lead from the top of a merge patch to a part of it. () is the whole patch."""

POD_TEMPLATE, METADATA = "PodTemplateSpec", "ObjectMeta"
KINDS = (POD_TEMPLATE, "Service", "PersistentVolumeClaim", "ConfigMap")
"""The kinds whose models are used here."""
_TEXT_MAPS = frozenset(["labels", "annotations", "nodeSelector", "matchLabels", "data"])
_TYPES: Mapping[str, tuple[type | UnionType, str]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "number": (int | float, "a number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "a mapping"),
}
"""Types of JSON: in Python, and in messages."""


class Violation(Struct, frozen=True):
    """A part of a merge patch that the model does not allow."""

    part: Part
    value: object
    reason: str
    fix: str


def violations(patch: object, patched: object, kind: str, part: Part = ()) -> Iterator[Violation]:
    """Yield each unknown name, missing name and wrong type that a merge patch brings into an object.

    patched: the object with the patch. kind: `POD_TEMPLATE` or a kind with a model. part: where the patch stands in a
    larger one.
    """
    if kind == POD_TEMPLATE and not mapping(mapping(patched).get("spec")).get("containers"):
        is_inside = "containers" in mapping(mapping(patch).get("spec"))
        where = (*part, "spec", "containers") if is_inside else (*part, "spec")
        yield Violation(where, None, "the pods have no `spec` with `containers`", "patch a container by its name")
    else:
        yield from _violations(patch, patched, {"$ref": kind}, part)


@functools.cache
def _definitions() -> dict[str, Any]:
    """Return the JSON schemas of all kinds and of their parts by name. Only a patch loads them: this takes 0.15 s."""
    import msgspec
    from lightkube.models import core_v1

    kinds = [getattr(core_v1, kind) for kind in KINDS]
    return msgspec.json.schema_components(kinds, ref_template="{name}")[1]


def _violations(patch: object, patched: object, schema: dict[str, Any], part: Part) -> Iterator[Violation]:
    choices = [_resolve(each) for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    types = [str(each.get("type")) for each in choices]
    if patch is None or not choices[0]:
        return  # null removes the field; a schema without a type allows anything
    if isinstance(patch, dict) and types == ["array"]:
        yield from _items(patch, patched, choices[0]["items"], part)
    elif not any(_is(patch, name) for name in types):
        yield _wrong_type(part, patch, types)
    elif isinstance(patch, list):
        for index, item in enumerate(patch):
            if item is None:
                yield _wrong_type((*part, index), item, ["object"])
            else:
                yield from _violations(item, item, choices[0]["items"], (*part, index))
    elif isinstance(patch, dict):
        yield from _fields(patch, patched, choices[0], part)


def _fields(patch: dict[str, Any], patched: object, schema: dict[str, Any], part: Part) -> Iterator[Violation]:
    fields = schema.get("properties")
    if fields is None:  # a mapping of any names
        for name, value in patch.items():
            expected = "string" if part and part[-1] in _TEXT_MAPS else "string or number"
            is_right = isinstance(value, str) or (expected != "string" and _is(value, "number"))
            if value is not None and not is_right:
                yield _wrong_type((*part, name), value, ["string"])
        return
    inside = mapping(patched)
    for name, value in patch.items():
        if name in fields:
            yield from _violations(value, inside.get(name), fields[name], (*part, name))
        else:
            yield Violation((*part, name), None, "there is no field of this name", _meant(name, fields))
    for name in schema.get("required", ()):
        if inside.get(name) is None:
            yield Violation((*part, name) if name in patch else part, None, f"`{name}` is missing", f"add `{name}`")


def _items(patch: dict[str, Any], patched: object, schema: dict[str, Any], part: Part) -> Iterator[Violation]:
    """Yield what is wrong in a mapping that patches items of a list by their names."""
    if not isinstance(patched, list):
        reason = "a mapping patches the items of a list by name, and there is no list with named items here"
        yield Violation(part, None, reason, "write a list")
        return
    items = {str(item.get("name")): item for item in mappings(patched)}
    for name, value in patch.items():
        if value is not None and not isinstance(value, dict):
            yield _wrong_type((*part, name), value, ["object"])
        elif value is not None and value.get("name", name) != name:
            yield Violation((*part, name, "name"), None, "the key of the mapping is the item's name", "remove it")
            inner = {key: each for key, each in value.items() if key != "name"}
            yield from _violations(inner, {**inner, "name": name}, schema, (*part, name))
        else:
            yield from _violations(value, items.get(name), schema, (*part, name))


def _wrong_type(part: Part, value: object, types: Sequence[str]) -> Violation:
    expected = " or ".join(_TYPES[name][1] for name in types)
    quoted = types[0] == "string" and isinstance(value, int | float)
    fix = "write it in quotes" if quoted else f"write {expected}"
    return Violation(part, None, f"it must be {expected}", fix)  # the value may be a secret


def _meant(name: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, fields, 1)
    return f"write {near[0]}, or remove it" if near else f"remove it; known: {list_names(sorted(fields))}"


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    return _definitions()[schema["$ref"]] if "$ref" in schema else schema


def _is(value: object, name: str) -> bool:
    """Return whether the value has the JSON type. In Python True is a number too, but not here."""
    return isinstance(value, _TYPES[name][0]) and (name == "boolean" or not isinstance(value, bool))
