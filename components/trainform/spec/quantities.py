"""Kubernetes quantities and durations: one table of suffixes, one parser, one canonical spelling.

The canonical spelling matters: Pulumi compares custom resources literally, so `1024Mi` and `1Gi` must render the same, or a
re-spelled file would be a new revision of the job. Source: `k8s.io/apimachinery/pkg/api/resource`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

BINARY = {"Ei": 2**60, "Pi": 2**50, "Ti": 2**40, "Gi": 2**30, "Mi": 2**20, "Ki": 2**10}
DECIMAL = {"E": 10**18, "P": 10**15, "T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
MILLI = Decimal(1) / 1000
_FACTORS: dict[str, Decimal | int] = {**BINARY, **DECIMAL, "m": MILLI}

_QUANTITY = re.compile(r"^(\d+(?:\.\d+)?|\.\d+)(Ei|Pi|Ti|Gi|Mi|Ki|E|P|T|G|M|k|m|)$")
_DURATION = re.compile(r"^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$")
_SECONDS = (86_400, 3_600, 60, 1)
_LARGEST = 2**63  # the API server keeps quantities in 63 bits and silently caps what is larger

QUANTITY_HINT = "write a number with an optional suffix: 500m, 8, 20G, 64Gi"
DURATION_HINT = "write a number with a unit: 90s, 30m, 12h, 1d12h"


def amount(quantity: str) -> Decimal:
    """The number a quantity stands for, in its base unit (cores, bytes, pieces); ValueError if it is none."""
    match = _QUANTITY.match(quantity)
    if match is None:
        raise ValueError("is not a quantity")
    number, suffix = match.groups()
    value = Decimal(number) * _FACTORS[suffix]
    if value >= _LARGEST:
        raise ValueError("is larger than Kubernetes can hold")
    return value


def canonical(quantity: str) -> str:
    """The one spelling: same family of suffix, no fraction, largest suffix that leaves a whole number."""
    value = amount(quantity)
    if value == 0:
        return "0"
    if value != value.to_integral_value():
        milli = value / MILLI
        if milli != milli.to_integral_value():
            raise ValueError("is finer than a thousandth")
        return f"{milli:f}".split(".")[0] + "m"
    whole = int(value)
    table = BINARY if quantity.lstrip("0123456789.") in BINARY else DECIMAL
    suffix, factor = next(((s, f) for s, f in table.items() if whole % f == 0), ("", 1))
    return f"{whole // factor}{suffix}"


def seconds(duration: str) -> int:
    """`1h30m` in seconds; ValueError if it is no duration."""
    match = _DURATION.match(duration)
    if match is None:
        raise ValueError("is not a duration")
    return sum(int(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part is not None)


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("is not a quantity")
    # repr of a float could be 1e-05; the fixed notation is what the user meant
    return canonical(value if isinstance(value, str) else f"{Decimal(str(value)):f}")


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("is not a duration")
    seconds(value)
    return value


Quantity = Annotated[
    str,
    BeforeValidator(_quantity),
    PlainSerializer(str),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _QUANTITY.pattern}, {"type": "number", "minimum": 0}]}),
]
Duration = Annotated[str, BeforeValidator(_duration), Field(pattern=_DURATION.pattern)]
