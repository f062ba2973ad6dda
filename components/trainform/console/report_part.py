"""The base class of the models of all reports."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of a report, which does not change."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
