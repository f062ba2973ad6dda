"""What an API server takes: the schemas of kinds, and what in an object violates them.

A schema is a part of an OpenAPI document: only what a value must fulfil. It is made from the tables in `definitions`, here of Kubernetes' own kinds and
beside each operator of its own, which `tests/engine/test_served.py` holds against the servers of the tool chain; a live cluster gives the same of its
operators.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from trainform.errors import list_names
from trainform.manifests.served import objects, pods
from trainform.manifests.served.mistake import NO_FIELD, Mistake, joined
from trainform.manifests.served.notation import LACKS, POD_TEMPLATE, Schema, kinds_of, types_of
from trainform.manifests.served.words import MEANINGS, QUANTITY
from trainform.spec.merge_patch import named_items
from trainform.spec.names import MEANING

__all__ = [
    "EVERYTHING",
    "POD_TEMPLATE",
    "QUANTITY",
    "Schema",
    "key_of",
    "kubernetes",
    "mistakes",
    "read",
    "values",
]

DEFINITIONS = "definitions"

EVERYTHING = object()
"""In place of a patch: all of the value is looked at."""

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_MEANINGS = {**MEANING, **MEANINGS}
_TIME = re.compile(r"\d{4}-[01]\d-[0-3]\d[Tt][0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?([Zz]|[+-][0-2]\d:[0-5]\d)")
_BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_INT_OR_TEXT = "x-kubernetes-int-or-string"
_ANY_FIELD = "x-kubernetes-preserve-unknown-fields"
_KEYS = "x-kubernetes-list-map-keys"
_MOST_NAMES = 8
_CHECKS = {**pods.CHECKS, **objects.CHECKS}


def key_of(api_version: str, kind: str) -> str:
    """The name of a kind's schema."""
    return f"{api_version}/{kind}"


@functools.cache
def read(folder: str) -> dict[str, Schema]:
    """The schemas of the kinds in the module `definitions` of the package `folder`; none if it has no such module."""
    if not folder or importlib.util.find_spec(f"{folder}.{DEFINITIONS}") is None:
        return {}
    definitions = importlib.import_module(f"{folder}.{DEFINITIONS}")
    return kinds_of(definitions.KINDS, definitions.TYPES, getattr(definitions, "PODS_LACK", None))


@functools.cache
def kubernetes() -> dict[str, Schema]:
    """The schemas of Kubernetes' own kinds and types."""
    from trainform.manifests.served.definitions import KINDS, TYPES  # here, because most commands have no patches

    return {**types_of(TYPES), **kinds_of(KINDS, {})}


def mistakes(value: Any, schema: Schema, patch: Any = EVERYTHING) -> Iterator[Mistake]:
    """What a server would refuse or drop of the value. patch: a merge patch that is in the value; only what it set, or removed, is looked at."""
    yield from _mistakes(value, schema, patch, _Place())


def values(value: Any, schema: Schema, patch: Any = EVERYTHING) -> Iterator[Mistake]:
    """The values that do not go together in what has no `mistakes`. patch: as there; of a type that it touches, everything is looked at."""
    check = _CHECKS.get(schema.get("$ref", ""))
    if check is not None:
        yield from check(value)
    for place, inner, inner_schema, below in _inside(value, schema, patch, _Place()):
        yield from (mistake.below(place.where) for mistake in values(inner, inner_schema, below))


class _Place(NamedTuple):
    """A place in an object, and the fields that the operator's own definition of what is there does not have, by type."""

    where: str = ""
    lacks: Mapping[str, Collection[str]] = MappingProxyType({})

    def below(self, name: str) -> _Place:
        return _Place(joined(self.where, name), self.lacks)

    def mistake(self, value: object, reason: str, fix: str) -> Mistake:
        return Mistake(self.where, value, reason, fix)


def _mistakes(value: Any, schema: Schema, patch: Any, place: _Place) -> Iterator[Mistake]:
    if LACKS in schema:
        place = _Place(place.where, schema[LACKS])
    if "$ref" in schema:
        schema = {**kubernetes()[schema["$ref"]], **schema}
    wrong = _wrong(value, schema)
    if wrong is not None:
        yield place.mistake(value, *wrong)
    elif isinstance(value, dict):
        yield from _in_mapping(value, schema, patch, place)
    elif isinstance(value, list):
        yield from _in_list(value, schema, patch, place)


def _in_mapping(value: dict[str, Any], schema: Schema, patch: Any, place: _Place) -> Iterator[Mistake]:
    fields = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield place.below(name).mistake(None, "the field is missing", "add it")
    lacking = {joined(place.where, name) for name in place.lacks.get(schema.get("$ref", ""), ())}
    for inner, item, inner_schema, below in _inside(value, schema, patch, place):
        if inner.where in lacking:
            reason = "the operator's definition of pods does not have the field, and the API server would drop it"
            yield inner.mistake(item, reason, "remove it, or use another backend")
        else:
            yield from _mistakes(item, inner_schema, below, inner)
    for name in (name for name in value if not isinstance(patch, dict) or name in patch):
        wrong = _wrong(name, schema.get("propertyNames", {}))
        if wrong is not None:
            yield place.below(name).mistake(name, *wrong)
    if fields and not schema.get(_ANY_FIELD) and not isinstance(schema.get("additionalProperties"), Mapping):
        for name in value:
            if name not in fields and (not isinstance(patch, dict) or name in patch):
                fix = _of_these(name, fields, "remove it")
                yield place.below(name).mistake(value[name], NO_FIELD, fix)


def _in_list(value: list[Any], schema: Schema, patch: Any, place: _Place) -> Iterator[Mistake]:
    for inner, item, inner_schema, below in _inside(value, schema, patch, place):
        yield from _mistakes(item, inner_schema, below, inner)
    yield from _twice(value, schema.get(_KEYS, ()), place)


def _inside(value: Any, schema: Schema, patch: Any, place: _Place) -> Iterator[tuple[_Place, Any, Schema, Any]]:
    """Whatever is in a mapping or a list and has a schema: its place, the value, the schema, and the part of the patch for it."""
    schema = kubernetes()[schema["$ref"]] if "$ref" in schema else schema
    fields, others = schema.get("properties", {}), schema.get("additionalProperties")
    inside: list[tuple[str, Any, Any]] = []
    if isinstance(value, dict):
        inside = [(name, item, fields.get(name, others)) for name, item in value.items()]
    elif isinstance(value, list):
        named, of_items = named_items(value), schema.get("items")
        inside = [(item["name"] if named else f"[{index}]", item, of_items) for index, item in enumerate(value)]
    parts = patch
    if isinstance(patch, dict) and isinstance(value, list):  # a name may be that of an item without a form of its own
        parts = _by_new_name(patch) if named_items(value) else EVERYTHING
    for name, item, inner in inside:
        if isinstance(inner, Mapping) and (not isinstance(parts, dict) or name in parts):
            yield place.below(name), item, inner, parts[name] if isinstance(parts, dict) else EVERYTHING


def _by_new_name(patch: dict[str, Any]) -> dict[str, Any]:
    """The patches of items by the names that these have afterwards. Each sets a name, by its key if by nothing else."""
    named = ((name, {"name": name, **part} if isinstance(part, dict) else part) for name, part in patch.items())
    return {str(part["name"]) if isinstance(part, dict) else name: part for name, part in named}


def _twice(items: list[Any], keys: Sequence[str], place: _Place) -> Iterator[Mistake]:
    """Items that would be one and the same."""
    seen = set()
    for index, item in enumerate(items):
        identity = tuple(str(item.get(key)) for key in keys) if keys and isinstance(item, dict) else (index,)
        if identity in seen:
            words = " and ".join(f"{key} {item.get(key)}" for key in keys if key in item)
            yield place.below(f"[{index}]").mistake(
                None, f"an item with {words} is there already", "remove one of them"
            )
        seen.add(identity)


def _wrong(value: Any, schema: Schema) -> tuple[str, str] | None:
    """Reason and fix if the value itself is not as the schema says, whatever is in it."""
    kinds = _kinds(schema)
    words = " or ".join(_WORDS[kind] for kind in kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        quoted = "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool)
        fix = "write it in quotes" if quoted else "remove it" if value is None else f"write {words}"
        return f"the value is not {words}", fix
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        return "the value is not one that Kubernetes knows here", _of_these(value, allowed, "")
    if isinstance(value, int) and not isinstance(value, bool):
        least, most = _BOUNDS.get(schema.get("format", ""), (None, None))
        return _beyond(value, schema.get("minimum", least), schema.get("maximum", most))
    if isinstance(value, str):
        if schema.get("format") == "date-time" and not _TIME.fullmatch(value):
            return "the value is not a time", "write it like 2026-02-28T12:00:00Z"
        pattern = schema.get("pattern")
        if pattern is not None and not _matches(pattern, value):
            reason, fix = _MEANINGS.get(
                pattern, ("has not the form that the server wants", f"write it as the pattern says: {pattern}")
            )
            return f"the value {reason}", fix
        return _beyond(len(value), schema.get("minLength"), schema.get("maxLength"), "character")
    if isinstance(value, list):
        return _beyond(len(value), schema.get("minItems"), schema.get("maxItems"), "item")
    return None


def _kinds(schema: Schema) -> list[str]:
    if schema.get(_INT_OR_TEXT):
        return ["integer", "string"]
    return [schema["type"]] if schema.get("type") in _TYPES else []


def _is(value: Any, kind: str) -> bool:
    """In Python True is a whole number too, but not here."""
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _beyond(number: float, least: float | None, most: float | None, of: str = "") -> tuple[str, str] | None:
    if least is not None and number < least:
        return f"the value is less than {_counted(least, of)}", f"write {_counted(least, of)} or more"
    if most is not None and number > most:
        return f"the value is more than {_counted(most, of)}", f"write {_counted(most, of)} or less"
    return None


def _counted(number: float, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}" if of else f"{number}"


def _matches(pattern: str, text: str) -> bool:
    """Whether the text has the pattern, which an operator may have written for another engine than Python's."""
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _of_these(wrong: Any, known: Iterable[Any], otherwise: str) -> str:
    """The fix with the name that is nearest, or else some of the known ones."""
    import difflib  # here, because most patches are right

    names = [str(name) for name in known if name != ""]
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(str(wrong).lower(), by_lower, 1)
    if near:
        return f"write {by_lower[near[0]]}" + (f", or {otherwise}" if otherwise else "")
    listed = list_names(names, _MOST_NAMES)
    return f"{otherwise}; there are {listed}" if otherwise else f"write one of {listed}"
