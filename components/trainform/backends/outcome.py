"""The end of a job: the role whose success ends it, and what became of a job, as its operator says it.

An operator may call a job complete of which pods have failed, since the pods that decide have succeeded, or enough of
them: a policy of Volcano's, its minimum of pods, the master of a PyTorchJob. Whoever asks whether a job has succeeded
means all of its pods.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from trainform.manifests.manifest import FIELD_MANAGER, mapping, mappings
from trainform.plan.model import Ending, Plan

Word = Literal["succeeded", "succeeded in part", "failed", "stopped", "not ended"]
Pods = Sequence[Mapping[str, Any]]
Count = Callable[[Mapping[str, Any], Pods], int]
"""How many pods have failed that nothing has replaced, by the status of a job that is complete and by its pods that are
still there."""


class Outcome(Struct, frozen=True):
    """word: `stopped` for a job that a person has ended before its pods have; `succeeded in part` for one that is
    complete though pods of it have failed. at: when it ended (RFC 3339); "" if it has not, or nothing says it."""

    word: Word = "not ended"
    at: str = ""


def failed_of_pods(_status: Mapping[str, Any], pods: Pods) -> int:
    """Count failed pods that nothing replaced, for an operator that deletes each pod that it makes again. Pods that are
    being deleted may fail by that, so they do not count."""
    left = (pod for pod in pods if not mapping(pod.get("metadata")).get("deletionTimestamp"))
    return sum(mapping(pod.get("status")).get("phase") == "Failed" for pod in left)


def failed_of_types(status: Mapping[str, Any], _pods: Pods) -> int:
    """Count for an operator that counts the pods of each replica type, once and for all when the job is complete."""
    counts = [mapping(each).get("failed") for each in mapping(status.get("replicaStatuses")).values()]
    return sum(count for count in counts if isinstance(count, int))


class ToOutcome(Struct, frozen=True):
    """How an operator reports the outcome of a job."""

    words: Mapping[str, Word]
    """By the type of a condition that holds, or by the phase of a job of which nothing runs any more."""

    failed_pods: Count | None = None
    """None for an operator that calls no job complete of which a part has failed: a pod that it makes again stays as
    failed."""

    def __call__(self, job: Mapping[str, Any], pods: Pods) -> Outcome:
        """Return the outcome of a live job object. pods: of its revision."""
        status = mapping(job.get("status"))
        times = dict(_states(status))
        name = next((name for name in self.words if name in times), None)
        if name is None:
            return Outcome()
        failed = 0 if self.failed_pods is None else self.failed_pods(status, pods)
        in_part = self.words[name] == "succeeded" and failed > 0
        return Outcome("succeeded in part" if in_part else self.words[name], times[name])


def by_condition(succeeded: str, failed_pods: Count | None = None) -> ToOutcome:
    """Return the outcome by the conditions of a job. succeeded: the type of the one that means success."""
    return ToOutcome({"Failed": "failed", succeeded: "succeeded"}, failed_pods)


def _states(status: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the phase and the true conditions, each with the time of its beginning."""
    state = mapping(status.get("state"))
    true = [each for each in mappings(status.get("conditions")) if each.get("status") == "True"]
    for each, key in ((state, "phase"), *((condition, "type") for condition in true)):
        yield str(each.get(key, "")), str(each.get("lastTransitionTime", ""))


def is_changed_since(job: Mapping[str, Any], outcome: Outcome) -> bool:
    """Return whether a `pulumi up` has changed the job object in place after its end, so that nothing has run as the
    object says now. An apply that changes nothing leaves the time as it is; status and fields of others have their
    own."""
    entries = mappings(mapping(job.get("metadata")).get("managedFields"))
    times = [str(entry.get("time", "")) for entry in entries if entry.get("manager") in FIELD_MANAGER.values()]
    return bool(outcome.at) and max(times, default="") > outcome.at


def seconds_of(job: Mapping[str, Any], outcome: Outcome) -> int | None:
    """Return the seconds from the creation of the job object to its end, also those in which it waited; None if one of
    the two is not known."""
    try:
        begun, ended = map(datetime.datetime.fromisoformat, (job["metadata"]["creationTimestamp"], outcome.at))
        return max(0, int((ended - begun).total_seconds()))
    except (KeyError, TypeError, ValueError):
        return None


def ends_with_role(plan: Plan, name: str | None, condition: str = "") -> tuple[Ending, ...]:
    """Return the ending by the success of all pods of the role; empty if there is no such role, or no other one."""
    if name is None or len(plan.roles) == 1:
        return ()
    return (Ending(f"the role {name}{condition}", (name,)),)


def ends_by(role: str | None, ends_with: Collection[Ending]) -> bool:
    """Return True if the success of the role is enough to end the job."""
    return any(role in ending.roles for ending in ends_with)
