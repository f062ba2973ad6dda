"""Values as YAML: the same text to every reader of the file, Pulumi's among them."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainform.errors import InputError
from trainform.local.scaffold.yaml_text import RESERVED_WORDS, scalar
from trainform.spec.read import parse_mapping

NUMBERS = ("08", "1e3", "0o17", "0e0", "0x10", "0b1", "1_000", ".5", "+1", "-1", "12", "1.5", "12:30", "2026-01-02")
MISTAKEN = (*NUMBERS, "no", "On", "TRUE", "y", "N", "null", "~", ".inf", "-.inf", ".NaN", "<<", "=", "")


@pytest.mark.parametrize("text", MISTAKEN)
def test_texts_that_yaml_reads_as_other_values_are_quoted(text: str) -> None:
    assert scalar(text) == f'"{text}"'


@pytest.mark.parametrize("text", ["bert", "e5", "x86", "resnet-50", "yes-man", "null2", "a.b/c:d@sha256:0"])
def test_names_are_not_quoted(text: str) -> None:
    assert scalar(text) == text


@given(st.one_of(st.text(), st.from_regex("[-+.]?[0-9a-foxinyE_:.+-]{1,12}", fullmatch=True)))
def test_only_texts_with_a_first_letter_are_not_quoted(text: str) -> None:
    """Go's yaml.v3, with which Pulumi reads, looks for something else than text behind a digit, a sign and a dot, and
    in words."""
    written = scalar(text)
    try:
        assert parse_mapping(f"text: {written}", "").data == {"text": text}
    except InputError:
        return  # characters that no file may hold
    assert yaml.safe_load(f"text: {written}") == {"text": text}
    assert written.startswith('"') or (re.match("[A-Za-z]", text) is not None and text.lower() not in RESERVED_WORDS)
