"""What became of a job, as its operator says it: whether it has succeeded, and when."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Literal

from trainform.manifests.shapes import mapping, mappings

Word = Literal["succeeded", "failed", "stopped", "not ended"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """word: `stopped` for a job that somebody has ended before its pods have. at: when it ended (RFC 3339); "" if it has not, or nothing says it."""

    word: Word = "not ended"
    at: str = ""


def by_conditions(job: Mapping[str, Any], succeeded: str, failed: str = "Failed") -> Outcome:
    """The outcome of a job object whose status has conditions. succeeded, failed: their types."""
    conditions = mappings(mapping(job.get("status")).get("conditions"))
    true = {each.get("type"): each for each in conditions if each.get("status") == "True"}
    words: dict[str, Word] = {failed: "failed", succeeded: "succeeded"}
    for condition, word in words.items():
        if condition in true:
            return Outcome(word, str(true[condition].get("lastTransitionTime", "")))
    return Outcome()


def seconds_of(job: Mapping[str, Any], outcome: Outcome) -> int | None:
    """Seconds from the creation of the job object to its end, with the time in which it waited; None if one of the two is not known."""
    try:
        begun, ended = map(datetime.datetime.fromisoformat, (job["metadata"]["creationTimestamp"], outcome.at))
        return max(0, int((ended - begun).total_seconds()))
    except (KeyError, TypeError, ValueError):
        return None
