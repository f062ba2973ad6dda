"""The base of every model: frozen, strict, unknown keys refused."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Discriminator


class Model(BaseModel):
    """Strict: `replicas: "3"` is a mistake and is said to be one, never quietly read as 3."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, regex_engine="python-re")


def only_one(names: tuple[str, ...]) -> Any:
    """JSON Schema for "exactly one of these keys", so that editors say it too."""
    return {"oneOf": [{"required": [name]} for name in names]}


# Tags of a field that is either one word or a mapping. The branch follows the shape of the value, so that a mistake is told
# once, for the branch that was meant. The brackets keep a tag from being taken for a key of the user's.
TEXT, MAPPING = "(text)", "(mapping)"
by_shape = Discriminator(lambda value: MAPPING if isinstance(value, dict | BaseModel) else TEXT)
