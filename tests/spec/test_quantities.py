"""Quantities and durations: one canonical spelling, the same amount, the same as Kubernetes' own parser says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.utils.quantity import parse_quantity
from pydantic import Field

from trainform.errors import InputError
from trainform.spec.base_model import Model
from trainform.spec.quantities import BINARY, DECIMAL, Bytes, Size, amount, canonical, is_whole, seconds

SUFFIXES = [*BINARY, *DECIMAL, "m"]
written = st.builds(
    lambda number, fraction, suffix: f"{number}{f'.{fraction}' if fraction else ''}{suffix}",
    st.integers(0, 10**12),
    st.sampled_from(["", "0", "5", "25", "125", "001", "500"]),
    st.sampled_from(SUFFIXES),
)


def accepted(text: str) -> bool:
    try:
        canonical(text)
    except ValueError:
        return False
    return True


@given(written.filter(accepted))
def test_canonical_keeps_the_amount_and_is_idempotent(text: str) -> None:
    spelled = canonical(text)
    assert amount(spelled) == amount(text)
    assert canonical(spelled) == spelled
    assert parse_quantity(spelled) == amount(text)


@given(written.filter(accepted), written.filter(accepted))
def test_equal_amounts_of_a_family_are_spelled_the_same(one: str, other: str) -> None:
    if (one.lstrip("0123456789.") in BINARY) == (other.lstrip("0123456789.") in BINARY):
        assert (canonical(one) == canonical(other)) == (amount(one) == amount(other))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("1024Mi", "1Gi"),
        ("1Gi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5", "500m"),
        ("500m", "500m"),
        ("1000m", "1"),
        ("8", "8"),
        ("08", "8"),
        ("1.0", "1"),
        ("0", "0"),
        ("0Gi", "0"),
        ("0.0", "0"),
        ("20G", "20G"),
        ("20000M", "20G"),
        ("1000", "1k"),
        (".5", "500m"),
        ("0.5Ki", "512"),
        ("203.125Ki", "208k"),
        ("1024", "1024"),
        ("7Ei", "7Ei"),
        ("9.2E", "9200P"),
    ],
)
def test_canonical(text: str, spelled: str) -> None:
    assert canonical(text) == spelled


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the value is not a quantity"),
        ("8 cores", "the value is not a quantity"),
        ("64GB", "the value is not a quantity"),
        ("-1", "the value is not a quantity"),
        ("1e3", "the value is not a quantity"),
        ("Gi", "the value is not a quantity"),
        ("1\n", "the value is not a quantity"),
        ("٣Gi", "the value is not a quantity"),
        ("1.", "the value is not a quantity"),
        ("9" * 40, "the value is not a quantity"),
        ("8Ei", "the value is larger than Kubernetes can hold"),
        ("0.0001", "the value is finer than a thousandth"),
        ("1.0000000000000000000000000001", "the value is finer than a thousandth"),
    ],
)
def test_what_is_no_quantity(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}; "):
        canonical(text)


@pytest.mark.parametrize(
    ("text", "whole"), [("1500m", False), ("2000m", True), ("0", True), ("1.5Ki", True), ("0.3Ki", False)]
)
def test_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


class Amounts(Model):
    memory: Bytes = Field(default="1Gi")
    size: Size = Field(default="1Gi")


@pytest.mark.parametrize("field", ["memory", "size"])
@pytest.mark.parametrize(
    ("value", "size", "fix"),
    [
        (64, "64", "64Gi or 64Mi"),
        ("1000", "1,000", "1000Gi or 1000Mi"),
        ("64k", "64,000", "64Gi or 64Mi"),
        ("1023Ki", "1,047,552", "1023Gi or 1023Mi"),
        ("64000m", "64", "64000Gi or 64000Mi"),
    ],
)
def test_bytes_whose_unit_is_missing(field: str, value: object, size: str, fix: str) -> None:
    with pytest.raises(InputError, match=f"(?s)the value is {size} bytes, less than 1 MiB.* such as {fix}"):
        Amounts.model_validate({field: value})


@pytest.mark.parametrize(
    ("text", "number"),
    [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("1d12h", 129_600), ("0s", 0), ("24855d", 2_147_472_000)],
)
def test_seconds(text: str, number: int) -> None:
    assert seconds(text) == number


@pytest.mark.parametrize(
    "text", ["", "1", "1 day", "m", "1m1h", "1.5h", "-1s", "1s\n", "٣s", "24856d", "9" * 5000 + "s"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"^the (value is not a duration|time is longer than 68 years); "):
        seconds(text)
