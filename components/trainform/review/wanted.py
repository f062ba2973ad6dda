"""The experiment and environment of a job on one side of a preview, from the record of what is deployed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from trainform import defaults
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.spec.experiment import Experiment


class Side(Struct, frozen=True, dict=True):
    """One side."""

    experiment: Mapping[str, Any]
    """With every default, if this version of trainform can read it."""
    environment: Mapping[str, Any]
    run: int
    version: str | None = None
    """Version of the trainform that deployed it; None: unknown."""
    job: str = ""

    @functools.cached_property
    def model(self) -> Experiment | None:
        """The experiment; None if this version of trainform cannot read it."""
        try:
            return Experiment.model_validate(self.experiment, strict=False)
        except (ValidationError, RecursionError):
            return None

    @property
    def backend(self) -> str:
        """The operator that runs the job."""
        chosen = self.experiment.get("backend") or self.environment.get("backend")
        return chosen if isinstance(chosen, str) else defaults.BACKEND

    @functools.cached_property
    def resolved(self) -> Mapping[str, Any]:
        """The experiment with every default and one spelling of each value; as it was written if it cannot be read."""
        return self.experiment if self.model is None else resolved(self.model)


def side_of(record: Record | None) -> Side | None:
    """Return the side with this record; None without one."""
    if record is None:
        return None
    return Side(record.experiment, record.environment, record.run, record.version, record.job)
