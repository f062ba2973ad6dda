"""Kubernetes quantities and durations: one table of suffixes, one parser, one canonical spelling.

The canonical spelling matters: Pulumi compares custom resources literally, so `1024Mi` and `1Gi` must render the same,
or a new spelling in a file would be a new revision of the job. Source: `k8s.io/apimachinery/pkg/api/resource`.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from trainform.spec.names import END
from trainform.spec.refusal import refusal

BINARY = {"Ei": 2**60, "Pi": 2**50, "Ti": 2**40, "Gi": 2**30, "Mi": 2**20, "Ki": 2**10}
DECIMAL = {"E": 10**18, "P": 10**15, "T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
MILLI = Decimal("0.001")
_FACTORS: dict[str, Decimal | int] = {**BINARY, **DECIMAL, "m": MILLI}

# 30 digits on each side are more than any cluster holds; a bound keeps the arithmetic exact.
_QUANTITY = re.compile(rf"^([0-9]{{1,30}}(?:\.[0-9]{{1,30}})?|\.[0-9]{{1,30}})(Ei|Pi|Ti|Gi|Mi|Ki|E|P|T|G|M|k|m|){END}")
_DURATION = re.compile(
    rf"^(?=[0-9])(?:([0-9]{{1,12}})d)?(?:([0-9]{{1,12}})h)?(?:([0-9]{{1,12}})m)?(?:([0-9]{{1,12}})s)?{END}"
)
_SECONDS = (86_400, 3_600, 60, 1)
_EXACT = Context(prec=100)
SMALLEST = 2**20  # bytes; a smaller number lacks its unit: no process fits in it
_LARGEST = 2**63  # the API server keeps quantities in 63 bits and silently caps what is larger
_LONGEST = 2**31 - 1  # seconds are 32 bits wide in the API

QUANTITY_HINT = "write a number with an optional suffix: 500m, 8, 20G, 64Gi"
# Units as people and programs write them: 800GB, 16gb, 64 GiB
_UNIT = re.compile(rf"^([0-9.]+)\s*(?:([kmgtpe])(i?)b?|b){END}", re.IGNORECASE)
DURATION_HINT = "write a number with a unit: 90s, 30m, 12h, 1d12h"


def amount(quantity: str) -> Decimal:
    """Return the number of a quantity in its base unit (cores, bytes, pieces). Raises ValueError for other texts."""
    match = _QUANTITY.match(quantity)
    if match is None:
        raise refusal("the value is not a quantity", quantity_hint(quantity))
    number, suffix = match.groups()
    value = _EXACT.multiply(Decimal(number), Decimal(_FACTORS[suffix]))
    if value >= _LARGEST:
        raise refusal("the value is larger than Kubernetes can hold", "write less than 8Ei")
    return value


def quantity_hint(text: str) -> str:
    """Return the fix for a text that is not a quantity."""
    together = "".join(text.split())
    if together != text and _QUANTITY.match(together) is not None:
        return f"did you mean {together}?"
    match = _UNIT.match(text)
    if match is None:
        return QUANTITY_HINT
    number, letter, is_binary = match.groups()
    if letter is None:
        return f"did you mean {number}?"
    power = "kmgtpe".index(letter.lower()) + 1
    binary, decimal = (list(reversed(table))[place] for table, place in ((BINARY, power - 1), (DECIMAL, power)))
    if is_binary:
        return f"did you mean {number}{binary}?"
    if text.endswith(decimal):
        return f"did you mean {number}{decimal}?"
    return f"did you mean {number}{binary} (2^{10 * power} bytes each) or {number}{decimal} (10^{3 * power})?"


def canonical(quantity: str) -> str:
    """Return the canonical spelling: same family of suffix, no fraction, largest suffix for a whole number."""
    return spell(amount(quantity), binary=quantity.lstrip("0123456789.") in BINARY)


def spell(value: Decimal, *, binary: bool = False) -> str:
    """Return the amount in the canonical spelling. Raises ValueError if it is finer than a thousandth."""
    if value == 0:
        return "0"
    if value != value.to_integral_value():
        milli = _EXACT.multiply(value, Decimal(1000))
        if milli != milli.to_integral_value():
            raise refusal("the value is finer than a thousandth", "round it to three digits, or use the suffix m")
        return f"{int(milli)}m"
    whole = int(value)
    # a number without a binary suffix is decimal, and so spelled with a decimal suffix (208k)
    table = BINARY if binary and whole % BINARY["Ki"] == 0 else DECIMAL
    suffix, factor = next(((s, f) for s, f in table.items() if whole % f == 0), ("", 1))
    return f"{whole // factor}{suffix}"


def is_whole(quantity: str) -> bool:
    """Return True for a whole amount: Kubernetes counts everything but CPU in whole pieces or bytes."""
    value = amount(quantity)
    return value == value.to_integral_value()


def is_too_small(quantity: str) -> bool:
    """Return True for an amount of bytes that lacks its unit. 0 is allowed."""
    return 0 < amount(quantity) < SMALLEST


def too_small(quantity: str, written: str = "64") -> tuple[str, str]:
    """Return the reason and the fix for an amount that is too small. written: its text in the file."""
    number = written.rstrip("mkKi")
    reason = f"the value is {amount(quantity):,} bytes, less than 1 MiB"
    return reason, f"write the unit that is meant, such as {number}Gi or {number}Mi"


def seconds(duration: str) -> int:
    """Return the seconds of a duration such as `1h30m`. Raises ValueError if the text is not a duration."""
    match = _DURATION.match(duration)
    if match is None:
        raise refusal("the value is not a duration", DURATION_HINT)
    total = sum(int(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part is not None)
    if total > _LONGEST:
        raise refusal("the time is longer than 68 years", "write a shorter time, or leave it out")
    return total


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refusal("the value is not a quantity", quantity_hint(str(value)))
    # repr of a float could be 1e-05; the user meant the fixed notation
    return canonical(value if isinstance(value, str) else f"{Decimal(str(value)):f}")


def _bytes(value: Any) -> Any:
    text = _quantity(value)
    if not is_whole(text):
        raise refusal(
            "the value is a fraction of a byte", "write it like 512Mi or 20G; the suffix m means a thousandth"
        )
    if is_too_small(text):
        raise refusal(*too_small(text, str(value)))
    return text


def _shared_memory(value: Any) -> Any:
    return value if value == UNLIMITED else _bytes(value)


def _size(value: Any) -> Any:
    text = _bytes(value)
    if text == "0":
        raise refusal("the size must be more than 0", "write how much is needed, such as 100Gi")
    return text


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        raise refusal("the value is not a duration", DURATION_HINT)
    seconds(value)
    return value


def _run_time(value: Any) -> Any:
    text = _duration(value)
    if seconds(text) == 0:
        raise refusal("the time must be more than 0", "write the longest time of a run, such as 72h, or remove it")
    return text


UNLIMITED = "unlimited"
_FORMS = [{"type": "string", "pattern": _QUANTITY.pattern}, {"type": "number", "minimum": 0}]
_QUANTITY_SCHEMA = WithJsonSchema({"anyOf": _FORMS})
Quantity = Annotated[str, BeforeValidator(_quantity), PlainSerializer(str), _QUANTITY_SCHEMA]
Bytes = Annotated[str, BeforeValidator(_bytes), PlainSerializer(str), _QUANTITY_SCHEMA]
"""A quantity without a fraction: `memory: 100m` is a tenth of a byte, and a mistake."""

SharedMemory = Annotated[
    str,
    BeforeValidator(_shared_memory),
    PlainSerializer(str),
    WithJsonSchema({"anyOf": [{"const": UNLIMITED}, *_FORMS]}),
]
"""Bytes, or no limit."""

Size = Annotated[str, BeforeValidator(_size), PlainSerializer(str), _QUANTITY_SCHEMA]
"""Bytes, more than 0."""

_DURATION_SCHEMA = WithJsonSchema({"type": "string", "pattern": _DURATION.pattern})
Duration = Annotated[str, BeforeValidator(_duration), _DURATION_SCHEMA]
RunTime = Annotated[str, BeforeValidator(_run_time), _DURATION_SCHEMA]
"""A duration, more than 0."""
