"""What the models of all reports have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """The base of every part of a report: nothing is changed once it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
