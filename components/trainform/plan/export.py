"""The plan as plain data, for `plan --output json` and other programs."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct
from pydantic import BaseModel

from trainform.plan.model import Plan


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan's fields, every pod, and the names that follow from the revision. Its length grows with the number of
    pods."""
    data: dict[str, Any] = _plain(plan)
    return {
        "job": plan.job,
        "min_available": plan.min_available,
        "overrides": list(plan.overrides),
        **data,
        "pods": msgspec.to_builtins([*plan.pods()]),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True, by_alias=True)
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
