"""Previews that a newer engine, a broken file or somebody has made: read, or refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.review.previews_with_a_replacement import CLAIM_URN, JOB, RECORDED, read_or_refused, replacement
from tests.support import previews
from tests.support.previews import CONFIG_MAP, state, step_event, urn
from trainform.review.read import read_preview

# --- whatever a newer engine, a broken file or somebody has made of it

MIXED = [
    *replacement("create-replacement", "replace", "delete-replaced"),
    step_event("same", CLAIM_URN, state({"a": 1}, retainOnDelete=True), state({"a": 1})),
    step_event("update", urn(CONFIG_MAP, "bert-deployed"), state({"data": {"run": "1"}}), state({"data": {"run": "2"}}), diffs=["data"]),
    previews.policy("TF-IMG-2", "the tag can move", JOB),
    previews.diagnostic("error", "error: it failed"),
]  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.sampled_from(["[secret]", previews.UNKNOWN_TEXT, "same", JOB]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.sampled_from(["op", "urn", "old", "inputs", "name", "4dabf18193072939515e22adb298388d"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


TEXTS = [previews.stream(*MIXED), previews.digest(*MIXED), *(path.read_text() for path in RECORDED)]


@given(st.data(), st.sampled_from(TEXTS))
def test_a_preview_that_is_cut_off_anywhere(data: st.DataObject, text: str) -> None:
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    read_or_refused(text[start:end])


@given(st.data(), st.sampled_from([text for text in TEXTS if text.startswith('{"')]))
def test_a_stream_in_another_order(data: st.DataObject, text: str) -> None:
    lines = data.draw(st.permutations(text.splitlines()))
    read_or_refused("\n".join(line.replace('"sequence"', '"number"') for line in lines))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in places(item, (*path, key)))]


def with_another(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """The value with another at the path; `...` removes it."""
    if not path:
        return other
    copy = value.copy()
    if other is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = with_another(value[path[0]], path[1:], other)
    return copy


@given(st.data(), st.sampled_from(TEXTS))
def test_fields_that_are_missing_or_of_another_type(data: st.DataObject, text: str) -> None:
    is_stream = text.startswith('{"')
    whole = [json.loads(line) for line in text.splitlines()] if is_stream else json.loads(text)
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from([path for path in places(whole) if path]))
        whole = with_another(whole, path, data.draw(VALUES | st.just(...)))
    read_or_refused("\n".join(map(json.dumps, whole)) if is_stream else json.dumps(whole))


@given(st.text() | VALUES.map(json.dumps) | st.binary().map(lambda raw: raw.decode(errors="replace")))
def test_any_text(text: str) -> None:
    read_or_refused(text)
    read_or_refused('{"sequence":1,"resourcePreEvent":' + text + "}\n")


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_a_number_that_is_too_large_stays_text(number: str) -> None:
    """As a number it would make a report that is no JSON."""
    event = step_event("create", urn(CONFIG_MAP, "x"), None, state({"data": {"a": "LARGE"}}))
    text = previews.stream(event).replace('"LARGE"', number)
    (step,) = [each for each in read_preview(text).steps if each.kind == "ConfigMap"]
    assert step.new is not None
    assert step.new.inputs["data"] == {"a": number}
