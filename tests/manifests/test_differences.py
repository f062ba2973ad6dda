"""What differs between two trees of plain data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.leaks import OTHER_HUB_TOKEN as TOKEN
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.manifests.differences import Difference, differences, shown


def found(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(each.path, each.before, each.after) for each in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
        ({"a": 1}, {}, [("a", 1, None)]),
        ({}, {"a": {"b": 1}}, [("a", None, {"b": 1})]),
        ({"a": None}, {}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": ["x", "y"]}, {"a": ["y"]}, [("a", ["x", "y"], ["y"])]),
        ({"a": [{"x": 1}]}, {"a": [{"x": 1}, {"x": 2}]}, [("a[1]", None, {"x": 2})]),
    ],
)
def test_each_place_has_its_path(before: Any, after: Any, expected: list[Any]) -> None:
    assert found(before, after) == expected


def test_items_are_matched_by_what_names_them() -> None:
    main, side = {"name": "main", "image": "a"}, {"name": "side", "image": "b"}
    assert found({"c": [main]}, {"c": [side, {**main, "image": "c"}]}) == [
        ("c.side", None, side), ("c.main.image", "a", "c"),
    ]  # fmt: skip


def test_a_volume_that_is_mounted_twice_is_known_by_its_path() -> None:
    before = [{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}]
    after = [before[0], {**before[1], "readOnly": True}]
    assert found(before, after) == [("/b.readOnly", None, True)]


def test_the_order_of_named_items_is_a_difference() -> None:
    one, two = {"name": "one"}, {"name": "two"}
    assert found({"steps": [one, two]}, {"steps": [two, one]}) == [("steps", ["one", "two"], ["two", "one"])]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("env", "HF_TOKEN"), "short"),
        (("env", "HUB"), TOKEN),
        (("env", "HF_TOKEN", "value"), "short"),
        (("env",), {"name": "HF_TOKEN", "value": "short"}),
        (("args",), ["--password", "hunter2"]),
        (("url",), "https://user:hunter2@example.com/x"),
        (("data", "config.json"), '{"password": "hunter2"}'),
    ],
)
def test_secrets_are_masked(keys: tuple[str, ...], value: Any) -> None:
    for pair in ((None, value), (value, None)):
        text = str(shown(Difference(keys, keys, *pair)))
        assert MASK in text or CHANGED_MASK in text
        assert not {"short", "hunter2", TOKEN} & set(text.replace("'", " ").replace(",", " ").split())


def test_where_one_side_is_secret_both_are_masked() -> None:
    assert shown(Difference(("env", "HUB"), ("env", "HUB"), "plain", TOKEN)) == (MASK, CHANGED_MASK)
    assert shown(Difference(("data",), ("data",), MASK, "plain")) == (MASK, CHANGED_MASK)


def test_the_name_of_a_secret_is_none() -> None:
    assert shown(Difference(("ssh", "secret"), ("ssh", "secret"), "keys", "other-keys")) == ("keys", "other-keys")


def test_a_key_that_is_a_secret_is_masked_in_paths() -> None:
    assert found({}, {"annotations": {TOKEN: "x"}, "labels": {}}) == [
        ("annotations", None, {TOKEN: "x"}), ("labels", None, {}),
    ]  # fmt: skip
    assert found({"annotations": {}}, {"annotations": {TOKEN: "x"}}) == [(f"annotations.{MASK}", None, "x")]


def test_a_text_that_becomes_a_reference_to_a_secret_is_one() -> None:
    reference = {"secret": {"name": "hub", "key": "token"}}
    for was, will in (("quiet-otter", reference), (reference, "quiet-otter")):
        (found,) = differences({"env": {"LETTER": was}}, {"env": {"LETTER": will}})
        assert "quiet-otter" not in str(shown(found))
        assert reference in shown(found)
