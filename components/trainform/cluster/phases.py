"""The phase of a job, from its pods first: operators report Running for a job whose pods wait."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from trainform.backends.admission import QUEUE_LABEL
from trainform.backends.backend import pods_of
from trainform.defaults import KUEUE
from trainform.manifests.manifest import mapping, mappings


class Phase(StrEnum):
    """The phases of a job. A job that Kueue holds suspended is queued."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    RESTARTING = "restarting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUSPENDED = "suspended"
    GONE = "gone"
    UNKNOWN = "unknown"


ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})
"""Phases of a job that has ended, and has no pod any more that may run."""


HOLDING = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RESTARTING, Phase.ENDING})
"""Phases in which pods of a job hold nodes."""


class PodState(StrEnum):
    """The states of a pod. Waiting: it has no node. Lost: its node no longer reports."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    ENDING = "ending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"


ENDED_PODS = frozenset({PodState.SUCCEEDED, PodState.FAILED})
PLACED = (PodState.STARTING, PodState.RUNNING, PodState.RESTARTING)

# What operators report: conditions of all of them except Volcano, most specific first, and the phases of Volcano. Of a
# word without an end, the phase follows from the pods.
_CONDITIONS = (
    *("Failed", "Succeeded", "Complete", "Completed", "FailureTarget", "SuccessCriteriaMet"),
    *("Suspended", "Restarting", "Running", "Created", "Queuing"),
)
_ENDS = {
    **dict.fromkeys(("Succeeded", "Complete", "Completed"), Phase.SUCCEEDED),
    **dict.fromkeys(("Failed", "Terminated", "Aborted"), Phase.FAILED),
}
_ON_THE_WAY = {
    **dict.fromkeys(("SuccessCriteriaMet", "Completing"), Phase.SUCCEEDED),
    **dict.fromkeys(("FailureTarget", "Aborting", "Terminating"), Phase.FAILED),
}
_RESTARTING = "Restarting"
_RETRIES = ("retryCount", "restarts")  # of Volcano's Job and of JobSet


def phase_of(
    job: Mapping[str, Any] | None,
    pods: Mapping[PodState, int] | None,
    gang: Mapping[str, Any] | None = None,
    admission: str = "",
) -> Phase:
    """Return the phase of a job. job: None if the cluster has none, empty if it could not be read. pods: how many are
    in each state, of the job's revision; None if they could not be read. gang: its PodGroup, or Kueue's Workload.
    admission: of the environment, if it is known."""
    status = mapping(mapping(job).get("status"))
    word = reported(status)
    end = _ENDS.get(word)
    if pods is None:
        return Phase.UNKNOWN if end is None else end
    number = {state: pods.get(state, 0) for state in PodState}
    live = sum(number[state] for state in PodState if state not in ENDED_PODS)
    placed = sum(number[state] for state in PLACED)
    made = sum(number.values()) - number[PodState.FAILED]
    needed = needed_pods(job, gang) or made  # where that is unknown, no pod may be missing
    runs = number[PodState.RUNNING] > 0 and number[PodState.RUNNING] + number[PodState.SUCCEEDED] >= needed
    replaced = number[PodState.FAILED] > 0 and made >= needed
    kueue = admission == KUEUE or QUEUE_LABEL in mapping(mapping(mapping(job).get("metadata")).get("labels"))
    leaves = number[PodState.FAILED] + number[PodState.ENDING] > 0
    again = word == _RESTARTING or replaced or number[PodState.RESTARTING] > 0 or restarts_of_job(status) > 0
    rules = (
        (not live and end is not None, end),
        (not live and not job, Phase.GONE if job is None else Phase.UNKNOWN),
        (job is None or end is not None or word in _ON_THE_WAY or _is_deleted(job), Phase.ENDING),
        (number[PodState.LOST] > 0, Phase.UNKNOWN),
        (is_suspended(job), Phase.ENDING if live else Phase.QUEUED if kueue else Phase.SUSPENDED),
        (runs, Phase.RUNNING),
        (placed > 0, Phase.RESTARTING if again else Phase.ENDING if leaves else Phase.STARTING),
        (number[PodState.WAITING] > 0, Phase.QUEUED),
        (word == _RESTARTING, Phase.RESTARTING),
        (not any(number.values()), Phase.QUEUED),
    )
    return next((phase for holds, phase in rules if holds and phase is not None), Phase.ENDING)


def decided_end(job: Mapping[str, Any]) -> Phase | None:
    """Return the phase in which the job ends, once its operator has decided it: pods may still be stopping. None before
    that."""
    word = reported(mapping(job.get("status")))
    return (_ENDS | _ON_THE_WAY).get(word)


def needed_pods(job: Any, gang: Any) -> int:
    """Return how many pods of a job start together: by its templates, or else by its gang; 0 if that is unknown."""
    found = pods_of(job) if isinstance(job, dict) else []
    if found and not any(pods.elsewhere for pods in found):
        return sum(pods.template.min_available for pods in found)
    spec = mapping(mapping(gang).get("spec"))
    sizes = [spec.get("minMember"), *(each.get("count") for each in mappings(spec.get("podSets")))]
    return sum(size for size in sizes if isinstance(size, int))


def is_suspended(job: Any) -> bool:
    """Return True if the job object asks its operator to run no pods."""
    spec = mapping(mapping(job).get("spec"))
    return spec.get("suspend") is True or mapping(spec.get("runPolicy")).get("suspend") is True


def _is_deleted(body: Any) -> bool:
    return bool(mapping(mapping(body).get("metadata")).get("deletionTimestamp"))


def restarts_of_job(status: Mapping[str, Any]) -> int:
    """Return how often the operator has restarted the whole job, where its status has that."""
    return sum(count for key in _RETRIES if isinstance(count := status.get(key), int))


def reported(status: Mapping[str, Any]) -> str:
    """Return the operator's word in the job's status; "" if it has not set one yet."""
    phase = mapping(status.get("state")).get("phase", status.get("terminalState"))
    if isinstance(phase, str) and phase:
        return phase
    true = {str(each.get("type")) for each in mappings(status.get("conditions")) if each.get("status") == "True"}
    return next((condition for condition in _CONDITIONS if condition in true), "")


# --- pods


def pod_state(body: Any) -> PodState:
    """Return the state of a pod."""
    pod, status = mapping(body), mapping(mapping(body).get("status"))
    phase = str(status.get("phase", ""))
    if phase.lower() in ENDED_PODS:
        return PodState(phase.lower())
    if phase == "Unknown" or status.get("reason") == "NodeLost" or _is_lost(status):
        return PodState.LOST
    if _is_deleted(pod):
        return PodState.ENDING
    if not mapping(pod.get("spec")).get("nodeName"):
        return PodState.WAITING
    return _state_of_main(pod) if phase == "Running" else PodState.STARTING


def _is_lost(status: Mapping[str, Any]) -> bool:
    """Return whether the node controller has marked the pod: its containers were ready when the node reported last."""
    conditions = {str(each.get("type")): each for each in mappings(status.get("conditions"))}
    ready, containers = mapping(conditions.get("Ready")), mapping(conditions.get("ContainersReady"))
    # others give a reason: a readiness gate, and Volcano before it evicts the pod
    return ready.get("status") == "False" and containers.get("status") == "True" and not ready.get("reason")


def _state_of_main(pod: Mapping[str, Any]) -> PodState:
    """Return the state of the main container, which is the first: sidecars may end as they like."""
    main = next((each.get("name") for each in mappings(mapping(pod.get("spec")).get("containers"))), None)
    statuses = mappings(mapping(pod.get("status")).get("containerStatuses"))
    found = next((each for each in statuses if each.get("name") == main), {})
    state = mapping(found.get("state"))
    failed = mapping(state.get("terminated")).get("exitCode")
    if failed and mapping(pod.get("spec")).get("restartPolicy") == "Never":
        return PodState.FAILED
    if failed or ("waiting" in state and found.get("restartCount")):
        return PodState.RESTARTING
    return PodState.STARTING if "waiting" in state else PodState.RUNNING
