"""Sentences and values as Markdown."""

from __future__ import annotations

import pytest

from trainform.console.markdown import cell, prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('["--epochs", "120"]', '`["--epochs", "120"]`'),
        ('`args` changes to ["a", ["b", "c"]].', '`args` changes to `["a", ["b", "c"]]`.'),
        ('{"a": 1, "b": {"c": 2}} is new', '`{"a": 1, "b": {"c": 2}}` is new'),
        ("[unclosed a b", "`[unclosed` a b"),
        ("[a, `b`] c", "`[a`, `` `b`] `` c"),
    ],
)
def test_a_list_or_a_mapping_is_one_code_span(text: str, shown: str) -> None:
    assert prose(text) == cell(text) == shown
