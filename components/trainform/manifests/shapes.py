"""Objects of other programs hold anything at any place: what has another shape than it should counts as empty."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from trainform.spec.quantities import amount


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The items of a list that are mappings; an empty list if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def quantity(value: object) -> Decimal | None:
    """The amount of a quantity; None if it is not one, or not in a spelling that trainform reads (`1e3` is one that
    only Kubernetes reads)."""
    try:
        return amount(str(value))
    except ValueError:
        return None


def decoded(value: Any) -> Any:
    """The text that the value is in base64; the value as it is given if it is none."""
    try:
        return base64.b64decode(value).decode()
    except (TypeError, ValueError):
        return value
