"""How long a job may run, for every kind of job: they share the field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.manifests.served.mistake import Mistake

FIELD = "activeDeadlineSeconds"


def run_time_mistakes(spec: dict[str, Any]) -> Iterator[Mistake]:
    """A time that is over when the job starts: it would fail at once, or the server would refuse it."""
    given = spec.get(FIELD)
    if given is not None and given < 1:
        yield Mistake(FIELD, given, "the time is over when the job starts, so it would fail at once", "write 1 or more")
