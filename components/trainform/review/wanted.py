"""The experiment and environment of a job on each side of a preview, from the record of what is deployed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from trainform import defaults
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.review.context import JobReview
from trainform.spec.experiment import Experiment

MOST_JOBS = 256  # whose sides are kept


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


@functools.lru_cache(MOST_JOBS)  # most parts of the report ask for it
def before(job: JobReview) -> Side | None:
    """Return what is deployed; None if nothing is, or if it is unknown."""
    return _side(job.before)


@functools.lru_cache(MOST_JOBS)
def after(job: JobReview) -> Side | None:
    """Return what will be deployed; None if nothing will be, or if it is unknown."""
    return _side(job.after)


def _side(record: Record | None) -> Side | None:
    if record is None:
        return None
    return Side(record.experiment, record.environment, record.run, record.version, record.job)
