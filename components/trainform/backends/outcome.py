"""What became of a job, as its operator says it: whether it has succeeded, and when.

An operator may call a job complete of which pods have failed, since the pods that decide have succeeded, or enough of
them: a policy of Volcano's, its minimum of pods, the master of a PyTorchJob. Whoever asks whether a job has succeeded
means all of its pods.
"""

from __future__ import annotations

import abc
import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from trainform.manifests.manifest import FIELD_MANAGER
from trainform.manifests.shapes import mapping, mappings

Word = Literal["succeeded", "succeeded in part", "failed", "stopped", "not ended"]
Pods = Sequence[Mapping[str, Any]]
Count = Callable[[Mapping[str, Any], Pods], int]
"""How many pods have failed that nothing has replaced, by the status of a job that is complete and by its pods that are
still there."""


class Outcome(Struct, frozen=True):
    """word: `stopped` for a job that somebody has ended before its pods have; `succeeded in part` for one that is
    complete though pods of it have failed. at: when it ended (RFC 3339); "" if it has not, or nothing says it."""

    word: Word = "not ended"
    at: str = ""


def none_fails(_status: Mapping[str, Any], _pods: Pods) -> int:
    """Of an operator that calls no job complete of which a part has failed; a pod that is made again stays as
    failed."""
    return 0


def failed_of_pods(_status: Mapping[str, Any], pods: Pods) -> int:
    """Of an operator that deletes each pod that it makes again, and leaves those that have failed."""
    return sum(mapping(pod.get("status")).get("phase") == "Failed" and not _is_going(pod) for pod in pods)


def failed_of_types(status: Mapping[str, Any], _pods: Pods) -> int:
    """Of an operator that counts the pods of each type of replicas, once and for all when the job is complete."""
    counts = [mapping(each).get("failed") for each in mapping(status.get("replicaStatuses")).values()]
    return sum(count for count in counts if isinstance(count, int))


def _is_going(pod: Mapping[str, Any]) -> bool:
    """True for a pod that somebody ends, by which it may fail."""
    return bool(mapping(pod.get("metadata")).get("deletionTimestamp"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ToOutcome(abc.ABC):
    """How an operator says it."""

    failed_pods: Count = none_fails

    def __call__(self, job: Mapping[str, Any], pods: Pods) -> Outcome:
        """The outcome of a live job object. pods: of its revision."""
        status = mapping(job.get("status"))
        end = self._end(status)
        in_part = end.word == "succeeded" and self.failed_pods(status, pods) > 0
        return Outcome("succeeded in part", end.at) if in_part else end

    @abc.abstractmethod
    def _end(self, status: Mapping[str, Any]) -> Outcome:
        """What the operator calls the end of the job."""


@dataclasses.dataclass(frozen=True)
class ByCondition(ToOutcome):
    """The outcome of a job whose status has conditions. succeeded, failed: their types."""

    succeeded: str
    failed: str = "Failed"

    def _end(self, status: Mapping[str, Any]) -> Outcome:
        conditions = mappings(status.get("conditions"))
        true = {each.get("type"): each for each in conditions if each.get("status") == "True"}
        words: dict[str, Word] = {self.failed: "failed", self.succeeded: "succeeded"}
        for condition, word in words.items():
            if condition in true:
                return Outcome(word, str(true[condition].get("lastTransitionTime", "")))
        return Outcome()


@dataclasses.dataclass(frozen=True)
class ByPhase(ToOutcome):
    """The outcome of a job whose status has a phase with the time of its beginning. words: by the phases of a job of
    which nothing runs any more."""

    words: Mapping[str, Word]

    def _end(self, status: Mapping[str, Any]) -> Outcome:
        state = mapping(status.get("state"))
        word = self.words.get(str(state.get("phase", "")))
        return Outcome() if word is None else Outcome(word, str(state.get("lastTransitionTime", "")))


def is_changed_since(job: Mapping[str, Any], outcome: Outcome) -> bool:
    """Whether a `pulumi up` has changed the job object in place after its end, so that nothing has run as the object
    says now. An apply that changes nothing leaves the time as it is; status and fields of others have their own."""
    entries = mappings(mapping(job.get("metadata")).get("managedFields"))
    times = [str(entry.get("time", "")) for entry in entries if entry.get("manager") in FIELD_MANAGER.values()]
    return bool(outcome.at) and max(times, default="") > outcome.at


def seconds_of(job: Mapping[str, Any], outcome: Outcome) -> int | None:
    """Seconds from the creation of the job object to its end, with the time in which it waited; None if one of the two
    is not known."""
    try:
        begun, ended = map(datetime.datetime.fromisoformat, (job["metadata"]["creationTimestamp"], outcome.at))
        return max(0, int((ended - begun).total_seconds()))
    except (KeyError, TypeError, ValueError):
        return None
