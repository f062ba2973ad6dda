"""Merge patches: the test cases in the appendix of RFC 7386, and the addition for lists of named items."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainform.spec.layers import merge_patch

APPENDIX: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
MAIN = {"name": "main", "image": "registry.example.com/ai/pytorch:2.8", "env": [{"name": "RANK", "value": "0"}]}
SIDECAR = {"name": "log-shipper", "image": "registry.example.com/ai/log:1"}


@pytest.mark.parametrize(("target", "patch", "expected"), APPENDIX)
def test_appendix_of_the_rfc(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"main": {"tty": True}}, [{**MAIN, "tty": True}, SIDECAR]),
        ({"main": {"env": {"RANK": {"value": "7"}}}}, [{**MAIN, "env": [{"name": "RANK", "value": "7"}]}, SIDECAR]),
        ({"main": {"env": {"RANK": None}}}, [{**MAIN, "env": []}, SIDECAR]),
        ({"log-shipper": None}, [MAIN]),
        ({"log-shipper": None, "main": None}, []),
        ({"proxy": {"image": "envoy"}}, [MAIN, SIDECAR, {"name": "proxy", "image": "envoy"}]),
        ({"proxy": None}, [MAIN, SIDECAR]),
        ({}, [MAIN, SIDECAR]),
        ([SIDECAR], [SIDECAR]),
        (None, None),
    ],
)
def test_lists_of_named_items(patch: Any, expected: Any) -> None:
    assert merge_patch([MAIN, SIDECAR], patch) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"metrics": {"containerPort": 9100}}, [{"name": "metrics", "containerPort": 9100}]),
        ({"metrics": None}, []),
        ({"metrics": 9100}, {"metrics": 9100}),
    ],
)
def test_an_empty_list_gets_items(patch: Any, expected: Any) -> None:
    assert merge_patch([], patch) == expected


@pytest.mark.parametrize("target", [[{"key": "pool"}], ["--follow"], [MAIN, "x"], [{"name": ["main"]}]])
def test_other_lists_are_replaced(target: list[Any]) -> None:
    assert merge_patch(target, {"main": {"tty": True}}) == {"main": {"tty": True}}


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b"]), below, max_size=3),
    max_leaves=10,
)


@given(json, json)
def test_arguments_are_not_changed_and_the_result_is_reproducible(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    first = merge_patch(target, patch)
    assert (target, patch) == before
    if not isinstance(target, list):
        assert merge_patch(target, {}) == (target if isinstance(target, dict) else {})
    assert merge_patch(target, patch) == first
