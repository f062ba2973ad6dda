"""Values beside schemas: what is wrong in them, at which place, and what to write."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.manifests.served.mistake import Mistake, joined
from trainform.manifests.served.validation import QUANTITY, key_of, kubernetes, mistakes, read, values

NAMES = {"properties": {"name": {"type": "string"}, "count": {"type": "integer", "format": "int32"}}, "type": "object"}


def found(value: Any, schema: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    return [(mistake.where, mistake.reason, mistake.fix) for mistake in mistakes(value, schema, **more)]


@pytest.mark.parametrize(
    ("value", "schema", "reason", "fix"),
    [
        (True, {"type": "integer"}, "the value is not a whole number", "write a whole number"),
        (1.0, {"type": "integer"}, "the value is not a whole number", "write a whole number"),
        (None, {"type": "string"}, "the value is not text", "remove it"),
        (1, {"type": "string"}, "the value is not text", "write it in quotes"),
        (True, {"type": "string"}, "the value is not text", "write text"),
        ([], {"x-kubernetes-int-or-string": True}, "the value is not a whole number or text", "write a whole number or text"),
        ("64 GB", {"x-kubernetes-int-or-string": True, "pattern": QUANTITY}, "the value is not a quantity", "write it like 500m, 8 or 64Gi"),
        ("b", {"type": "string", "pattern": "^a$"}, "the value has not the form that the server wants", "write it as the pattern says: ^a$"),
        (2**31, {"type": "integer", "format": "int32"}, "the value is more than 2147483647", "write 2147483647 or less"),
        (-1, {"type": "integer", "minimum": 0}, "the value is less than 0", "write 0 or more"),
        ("ab", {"type": "string", "maxLength": 1}, "the value is more than 1 character", "write 1 character or less"),
        ([1, 2], {"type": "array", "maxItems": 1}, "the value is more than 1 item", "write 1 item or less"),
        ("never", {"enum": ["Always", "Never"]}, "the value is not one that Kubernetes knows here", "write Never"),
        ("x", {"enum": ["Always", "Never"]}, "the value is not one that Kubernetes knows here", "write one of Always, Never"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value(value: Any, schema: dict[str, Any], reason: str, fix: str) -> None:
    assert found(value, schema) == [("", reason, fix)]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("8", {"x-kubernetes-int-or-string": True}),
        (8, {"x-kubernetes-int-or-string": True, "pattern": QUANTITY}),
        ("1e3", {"x-kubernetes-int-or-string": True, "pattern": QUANTITY}),
        ("(", {"type": "string", "pattern": "("}),  # of another engine than Python's
        ({"any": 1}, {"type": "object"}),
        ({"any": 1}, {**NAMES, "x-kubernetes-preserve-unknown-fields": True}),
        ({"any": "a"}, {"type": "object", "additionalProperties": {"type": "string"}}),
        (3, {}),
    ],
    ids=str,
)
def test_a_value_that_is_right(value: Any, schema: dict[str, Any]) -> None:
    assert found(value, schema) == []


def test_the_place_of_a_mistake() -> None:
    items = {"type": "array", "items": NAMES}
    assert [where for where, _, _ in found([{"name": "a", "count": "b"}, {"name": "c"}], items)] == ["a.count"]
    assert [where for where, _, _ in found([{"count": "b"}], items)] == ["[0].count"]
    assert [where for where, _, _ in found({"nam": 1}, NAMES)] == ["nam"]
    assert [where for where, _, _ in found({}, {**NAMES, "required": ["name"]})] == ["name"]


def test_times() -> None:
    schema = {"type": "string", "format": "date-time"}
    for value, taken in (("2026-02-28T12:00:00Z", True), ("2026-02-28T12:00:00.5+01:00", True), ("tomorrow", False)):
        assert (found(value, schema) == []) == taken


def test_items_that_would_be_one() -> None:
    schema = {"type": "array", "items": NAMES, "x-kubernetes-list-map-keys": ["name"]}
    assert found([{"name": "a"}, {"name": "b"}], schema) == []
    assert found([{"name": "a"}, {"name": "a"}], schema) == [
        ("[1]", "an item with name a is there already", "remove one of them")
    ]


def test_only_what_a_patch_touches_is_looked_at() -> None:
    value = {"name": 1, "count": "a"}
    assert [where for where, _, _ in found(value, NAMES, patch={"count": "a"})] == ["count"]
    assert found(value, NAMES, patch={}) == []
    items = {"type": "array", "items": NAMES}
    named = [{"name": "a", "count": "x"}, {"name": "b", "count": "x"}]
    assert [where for where, _, _ in found(named, items, patch={"b": {"count": "x"}})] == ["b.count"]
    renamed = {"c": {"name": "b", "count": "x"}}
    assert [where for where, _, _ in found(named, items, patch=renamed)] == ["b.count"]


def test_what_belongs_together_is_found_at_any_depth() -> None:
    probe = {"containers": [{"name": "main", "livenessProbe": {}}]}
    (mistake,) = values(probe, {"$ref": "PodSpec"})
    assert mistake.where == "containers.main.livenessProbe"
    assert [*values(probe, {"$ref": "PodSpec"}, {"volumes": None})] == []


def test_places() -> None:
    assert Mistake("a", 1, "b", "c", ("d", "")).below("e[0]") == Mistake("e[0].a", 1, "b", "c", ("e[0].d", "e[0]"))
    assert [joined("", "a"), joined("a", "[0]"), joined("a", "b"), joined("a", "")] == ["a", "a[0]", "a.b", "a"]


def test_what_is_read() -> None:
    assert key_of("v1", "Service") in kubernetes()
    assert (read(""), read("trainform.errors".rpartition(".")[0])) == ({}, {})
