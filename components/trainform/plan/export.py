"""The plan as plain data, for `plan --output json` and other programs."""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import BaseModel

from trainform.plan.model import Plan


def as_data(plan: Plan) -> dict[str, Any]:
    """Return the plan's fields, every pod, and the names that follow from the revision. Its length grows with the
    number of pods."""
    data: dict[str, Any] = msgspec.to_builtins(plan, enc_hook=_model_data)
    cost = data["totals"]["cost_per_hour"]
    if cost is not None:
        cost["amount"] = float(cost["amount"])
    return {
        "job": plan.job,
        "min_available": plan.min_available,
        "overrides": list(plan.overrides),
        **data,
        "pods": msgspec.to_builtins([*plan.pods()]),
    }


def _model_data(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True, by_alias=True)
