"""What became of a job, as its operator says it: whether it has succeeded, and when."""

from __future__ import annotations

import abc
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


class ToOutcome(abc.ABC):
    """How an operator says it."""

    @abc.abstractmethod
    def __call__(self, job: Mapping[str, Any]) -> Outcome:
        """The outcome of a live job object."""


@dataclasses.dataclass(frozen=True)
class ByCondition(ToOutcome):
    """The outcome of a job whose status has conditions. succeeded, failed: their types."""

    succeeded: str
    failed: str = "Failed"

    def __call__(self, job: Mapping[str, Any]) -> Outcome:
        conditions = mappings(mapping(job.get("status")).get("conditions"))
        true = {each.get("type"): each for each in conditions if each.get("status") == "True"}
        words: dict[str, Word] = {self.failed: "failed", self.succeeded: "succeeded"}
        for condition, word in words.items():
            if condition in true:
                return Outcome(word, str(true[condition].get("lastTransitionTime", "")))
        return Outcome()


@dataclasses.dataclass(frozen=True)
class ByPhase(ToOutcome):
    """The outcome of a job whose status has a phase with the time of its beginning. words: by the phases of a job of which nothing runs any more."""

    words: Mapping[str, Word]

    def __call__(self, job: Mapping[str, Any]) -> Outcome:
        state = mapping(mapping(job.get("status")).get("state"))
        word = self.words.get(str(state.get("phase", "")))
        return Outcome() if word is None else Outcome(word, str(state.get("lastTransitionTime", "")))


def seconds_of(job: Mapping[str, Any], outcome: Outcome) -> int | None:
    """Seconds from the creation of the job object to its end, with the time in which it waited; None if one of the two is not known."""
    try:
        begun, ended = map(datetime.datetime.fromisoformat, (job["metadata"]["creationTimestamp"], outcome.at))
        return max(0, int((ended - begun).total_seconds()))
    except (KeyError, TypeError, ValueError):
        return None
