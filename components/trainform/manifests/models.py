"""Names and types of Kubernetes' own kinds, from lightkube's models: a first look at a patched object.

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
from trainform.manifests.manifest import mapping

Place = tuple[str | int, ...]
"""The keys that lead to a value in an object. An item of a list has its name, or its index if it has none."""

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
    """A value that the model does not allow."""

    place: Place
    reason: str
    fix: str


def violations(value: object, kind: str, place: Place = ()) -> Iterator[Violation]:
    """Yield each unknown name, missing name and wrong type in an object, or in a part of one that stands at `place`.

    kind: `POD_TEMPLATE`, `METADATA`, or a kind with a model.
    """
    if kind == POD_TEMPLATE and not mapping(mapping(value).get("spec")).get("containers"):
        where = (*place, "spec", "containers")
        yield Violation(where, "the pods have no `spec` with `containers`", "patch a container by its name")
    else:
        yield from _violations(value, {"$ref": kind}, place)


@functools.cache
def _definitions() -> dict[str, Any]:
    """Return the JSON schemas of all kinds and of their parts by name. Only a patch loads them: this takes 0.15 s."""
    import msgspec
    from lightkube.models import core_v1

    kinds = [getattr(core_v1, kind) for kind in KINDS]
    return msgspec.json.schema_components(kinds, ref_template="{name}")[1]


def _violations(value: object, schema: dict[str, Any], place: Place) -> Iterator[Violation]:
    choices = [_resolve(each) for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    types = [str(each.get("type")) for each in choices]
    if value is None or not choices[0]:
        return  # a schema without a type allows anything
    if not any(_is(value, name) for name in types):
        yield _wrong_type(place, value, types)
    elif isinstance(value, list):
        of_items = _resolve(choices[0]["items"])
        for index, item in enumerate(value):
            if of_items.get("type") == "object" and not isinstance(item, dict):
                yield Violation(place, "each item must be a mapping", "write a mapping for it, such as `NAME: {…}`")
                continue
            name = mapping(item).get("name")
            yield from _violations(item, of_items, (*place, name if isinstance(name, str) else index))
    elif isinstance(value, dict):
        yield from _fields(value, choices[0], place)


def _fields(value: dict[str, Any], schema: dict[str, Any], place: Place) -> Iterator[Violation]:
    fields = schema.get("properties")
    if fields is None:  # a mapping of any names
        types = ["string"] if place and place[-1] in _TEXT_MAPS else ["string", "number"]
        for name, item in value.items():
            if item is not None and not any(_is(item, each) for each in types):
                yield _wrong_type((*place, name), item, ["string"])
        return
    for name, item in value.items():
        if name in fields:
            yield from _violations(item, fields[name], (*place, name))
        else:
            yield Violation((*place, name), "there is no field of this name", _meant(name, fields))
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield Violation(place, f"`{name}` is missing", f"add `{name}`")


def _wrong_type(place: Place, value: object, types: Sequence[str]) -> Violation:
    expected = " or ".join(_TYPES[name][1] for name in types)
    quoted = types[0] == "string" and isinstance(value, int | float)
    fix = "write it in quotes" if quoted else f"write {expected}"
    return Violation(place, f"it must be {expected}", fix)  # the value may be a secret


def _meant(name: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, fields, 1)
    return f"write {near[0]}, or remove it" if near else f"remove it; known: {list_names(sorted(fields))}"


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    return _definitions()[schema["$ref"]] if "$ref" in schema else schema


def _is(value: object, name: str) -> bool:
    """Return whether the value has the JSON type. In Python True is a number too, but not here."""
    return isinstance(value, _TYPES[name][0]) and (name == "boolean" or not isinstance(value, bool))
