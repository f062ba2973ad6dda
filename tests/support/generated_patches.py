"""Merge patches, drawn by chance: of any place in a rendered object, with right and wrong values, fields that the server knows and others.

What a server knows is what it says itself, in its OpenAPI documents.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from trainform.backends.patched_objects import BEHIND
from trainform.backends.paths import EACH
from trainform.spec.merge_patch import merge_patch, named_items

Way = tuple[str, ...]
Schema = Mapping[str, Any]
Resolve = Callable[[Schema], Schema]
"""The schema to which a schema refers, and which it refines."""

_FEW: list[Any] = [None, "", "mine", 0, -1, 2.5, True, [], ["mine"], [{}], [{"name": "mine"}], {}, {"mine": None}]
VALUES: st.SearchStrategy[Any] = st.sampled_from(_FEW)
ODD: list[Any] = [
    *_FEW, "soon", "Foo", "1Gi", "-1", 2**31, 2**63, False, [None], {"name": "mine"}, "a\nb", "x" * 300, "10.0.0.1", "UPPER_case",
]  # fmt: skip
UNKNOWN = ["mine", "nodeSelecter", "workingdir", "maxRetyr", "Image", "spec", "name"]
TEXTS = [
    "mine", "main", "default", "1", "8080", "30s", "100m", "1Gi", "10.0.0.1", "/mine", "example.com/mine", "Always", "Never", "True", "http", "",
]  # fmt: skip
NUMBERS = [0, 1, 2, 8, 600, 8080, 30_000]
_SIMPLE: dict[str, list[Any]] = {"string": TEXTS, "integer": NUMBERS, "number": NUMBERS, "boolean": [False, True]}
DEEPEST = 4  # levels of fields that the server knows and the object has not


def ways(body: Any, way: Way = ()) -> Iterator[Way]:
    """Where a merge patch may lead to in the body: keys, and names of items."""
    for key, value in _entries(body).items():
        yield (*way, key)
        yield from ways(value, (*way, key))


def patch_at(way: Way, value: Any) -> Any:
    return value if not way else {way[0]: patch_at(way[1:], value)}


def patches_at(places: list[Way]) -> st.SearchStrategy[dict[str, Any]]:
    """Merge patches of one place or two."""
    single = st.builds(patch_at, st.sampled_from(places), VALUES)
    return st.lists(single, min_size=1, max_size=2).map(lambda patches: functools.reduce(merge_patch, patches))


def any_patch(chance: random.Random, body: Any, schema: Schema, resolve: Resolve) -> dict[str, Any]:
    """A merge patch of the body, of one place or two. Of thousands, hypothesis would draw most like the one before."""
    single = [_patch(chance, body, schema, resolve) for _ in range(1 + (chance.random() < 0.2))]
    return functools.reduce(merge_patch, single)


def free_patch(chance: random.Random, body: Any, path: str, schema: Schema, resolve: Resolve) -> dict[str, Any]:
    """A merge patch at a path with dots that a plan leaves free (`Backend.FREE`), mostly with a value as the server describes it."""
    way: list[str] = []
    behind = path.endswith(BEHIND)
    for word in path.removesuffix(BEHIND).split("."):
        schema = resolve(schema)
        entries, known = _entries(body), _known(body, schema)
        way.append(chance.choice(sorted(entries) or ["more"]) if word == EACH else word)
        body, schema = entries.get(way[-1]), known.get(way[-1], {})
    value = chance.choice(ODD) if chance.random() < 0.1 else _value(chance, schema, resolve, DEEPEST)
    kept = body if behind and isinstance(body, list) and isinstance(value, list) else []
    return dict(patch_at(tuple(way), [*kept, *value] if kept else value))


def _patch(chance: random.Random, body: Any, schema: Schema, resolve: Resolve) -> dict[str, Any]:
    way: list[str] = []
    while True:
        schema = resolve(schema)
        entries, known = _entries(body), _known(body, schema)
        if way and (not known or chance.random() < 0.1):
            wrong = chance.random() < 0.2
            return dict(patch_at(tuple(way), chance.choice(ODD) if wrong else _value(chance, schema, resolve, DEEPEST)))
        kind = chance.choices((entries, known, UNKNOWN), (10, 9, 1))[0]
        way.append(chance.choice(sorted(kind) or UNKNOWN))
        body, schema = entries.get(way[-1]), known.get(way[-1], {})


def _value(chance: random.Random, schema: Schema, resolve: Resolve, deepest: int) -> Any:
    """A value as the server describes it."""
    schema = resolve(schema)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string" or "oneOf" in schema:
        return chance.choice([*NUMBERS, *TEXTS])
    kind = str(schema.get("type"))
    if kind == "array":
        return [_value(chance, schema.get("items", {}), resolve, deepest - 1) for _ in range(chance.randint(0, 2))]
    if kind != "object":
        return chance.choice(_SIMPLE.get(kind, ODD))
    if "properties" not in schema:
        below = schema.get("additionalProperties", {})
        return {chance.choice(TEXTS): _value(chance, below, resolve, deepest - 1) for _ in range(chance.randint(0, 2))}
    known, needed = schema["properties"], schema.get("required", [])
    others = sorted(known.keys() - needed) if deepest > 0 else []
    more = chance.sample(others, min(len(others), chance.randint(0, 2)))
    return {name: _value(chance, known[name], resolve, deepest - 1) for name in [*needed, *more]}


def _entries(body: Any) -> dict[str, Any]:
    """What a patch reaches by a key."""
    if isinstance(body, list):
        return {str(item["name"]): item for item in body} if named_items(body) else {}
    return body if isinstance(body, dict) else {}


def _known(body: Any, schema: Schema) -> dict[str, Any]:
    """The schemas of what may stand there, by its key."""
    if isinstance(body, list):
        return dict.fromkeys([*_entries(body), *(["more"] if named_items(body) else [])], schema.get("items", {}))
    below = schema.get("additionalProperties")
    if isinstance(below, dict):
        return dict.fromkeys([*_entries(body), "example.com/mine"], below)
    return dict(schema.get("properties", {}))
