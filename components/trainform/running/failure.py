"""Why a pod ended, and which pod of a job failed first: a cause comes before its cascade, then the earlier time."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.backend import value_at
from trainform.cluster.live_drift import clock, seconds_between
from trainform.cluster.phases import restarts_of_job
from trainform.console.secrets import masked_lines
from trainform.manifests.manifest import mapping, mappings
from trainform.running.model import Cause, End, Failure, Fault
from trainform.running.pods import Place, first_ranks, place_of
from trainform.running.snapshot import Body, Snapshot, condition, container_statuses, name_of, text_at

SAME_TIME = 2
"""Seconds between two ends whose order is not known: the kubelet writes whole seconds, and clocks differ."""
SAME_ATTEMPT = 3600
"""Seconds between two ends of one attempt. Collectives that wait for a rank give up after 10 or 30 minutes."""

_CASCADE = {Cause.EXIT: 1, Cause.COMMUNICATION: 2, Cause.TERMINATED: 3}
"""Causes that may follow from another pod's, the later the surer. Of others the earliest end is the first."""

# What the kubelet and controllers write: reasons of a pod, of its condition DisruptionTarget, and of a container.
_OF_REASON: tuple[tuple[str, Cause, Fault], ...] = (
    ("OOMKilled", Cause.OOM, Fault.WORKLOAD),
    ("DeadlineExceeded", Cause.DEADLINE, Fault.USER),
    ("StartError ContainerCannotRun", Cause.NOT_STARTED, Fault.USER),
    ("UnexpectedAdmissionError", Cause.NOT_STARTED, Fault.PLATFORM),
    ("PreemptionByScheduler", Cause.EVICTED, Fault.QUEUE),
    ("Evicted Preempting EvictionByEvictionAPI TerminationByKubelet", Cause.EVICTED, Fault.PLATFORM),
    ("NodeLost NodeShutdown Terminated ContainerStatusUnknown", Cause.NODE_LOST, Fault.PLATFORM),
    ("DeletionByTaintManager DeletionByPodGC", Cause.NODE_LOST, Fault.PLATFORM),
)
_BY_REASON = {reason: (cause, fault) for reasons, cause, fault in _OF_REASON for reason in reasons.split()}
_BY_SIGNAL: dict[int, tuple[Cause, Fault]] = {
    signal.SIGTERM: (Cause.TERMINATED, Fault.PLATFORM),
    signal.SIGKILL: (Cause.SIGNAL, Fault.PLATFORM),  # no program asks for it itself
}
# What programs write, of which the first that is in the message counts.
_OF_MESSAGE: tuple[tuple[str, Cause, Fault], ...] = (
    (r"uncorrectable (NVLink|ECC)|\bXid\b|GPU is lost|fallen off the bus", Cause.EXCEPTION, Fault.PLATFORM),
    (r"no CUDA-capable device|driver version is insufficient|initialize NVML", Cause.EXCEPTION, Fault.PLATFORM),
    (r"No space left on device|Input/output error|Stale file handle", Cause.EXCEPTION, Fault.PLATFORM),
    (r"OutOfMemoryError|out of memory|\bMemoryError\b|bad_alloc", Cause.OOM, Fault.WORKLOAD),
    (
        r"NCCL(?! INFO)|Dist(Backend|Network|Store)Error|Rendezvous|gloo|TCPStore|ConnectionError|BrokenPipeError"
        r"|Connection(Reset|Refused|Aborted)Error|[Cc]onnection (reset|refused|closed)|[Hh]eartbeat time"
        r"|hosts did not answer within|lost communication|DEADLINE_EXCEEDED",
        Cause.COMMUNICATION,
        Fault.PLATFORM,
    ),
    (r"SignalException|got signal: 15", Cause.TERMINATED, Fault.PLATFORM),
    (r"can't open file|^trainform: the image has no", Cause.NOT_STARTED, Fault.USER),
)
_HEAD = "Traceback (most recent call last):"
_ROOT = re.compile(r"torchrun: .*\bexitcode (-?\d+)")
"""The first line of a message: what torchrun reports of the process that failed first (`message.awk`)."""
_NOT_FOUND = (126, 127)
_SIGNALS = {int(each): each.name for each in signal.Signals}


def end_of(pod: Body) -> End | None:
    """Return the end of the pod's first container that ended with an error, or of the last one that was restarted in
    place; None if there is none."""
    container, status, disruption = _termination(pod)[0], mapping(pod.get("status")), condition(pod, "DisruptionTarget")
    disrupted = disruption.get("reason") if disruption.get("status") == "True" else ""
    known = _BY_REASON.get(str(status.get("reason"))) or _BY_REASON.get(str(disrupted))
    if not container and known is None:
        return None
    code = container.get("exitCode")
    message = str(container.get("message") or status.get("message") or disruption.get("message") or "").rstrip("\n")
    root = _ROOT.match(message)
    number = _signal(container, code if root is None else int(root[1]))
    known = known or _BY_REASON.get(str(container.get("reason")))
    if known is None and number == signal.SIGKILL and text_at(pod, "metadata.deletionTimestamp"):
        known = _BY_SIGNAL[signal.SIGTERM]  # it did not end in time
    cause, fault = known or _cause(message, code, number)
    times = (str(each.get("lastTransitionTime", "")) for each in mappings(status.get("conditions")))
    at = str(container.get("finishedAt") or max(times, default=""))
    name = None if number is None else _SIGNALS.get(number, str(number))
    return End(cause, fault, code, name, masked_lines(message), at)


def _termination(pod: Body) -> tuple[Mapping[str, Any], int]:
    """Return the state of the container whose end counts, empty if there is none, with the number of its attempt."""
    for field, more in (("state", 1), ("lastState", 0)):
        ends = [
            (mapping(mapping(each.get(field)).get("terminated")), each.get("restartCount", 0) + more)
            for each in container_statuses(pod)
        ]
        failed = [each for each in ends if each[0].get("exitCode")]
        if failed:
            return min(failed, key=lambda each: str(each[0].get("finishedAt", "")))
    return {}, 1


def _signal(container: Mapping[str, Any], code: int | None) -> int | None:
    """Return the signal by which the process ended: a shell adds 128 to it, and Python negates it."""
    exited = 0 if code is None else -code if code < 0 else code - 128
    number = int(container.get("signal") or exited)
    return number if 0 < number <= signal.NSIG else None


def _cause(message: str, code: int | None, number: int | None) -> tuple[Cause, Fault]:
    """Return the cause by what the program wrote, and by how it ended."""
    raised = _HEAD in message
    if number is not None and number != signal.SIGABRT and not raised:
        return _BY_SIGNAL.get(number, (Cause.SIGNAL, Fault.WORKLOAD))
    # of a traceback the error counts, and not code that it passed
    lines = (line for line in message.splitlines() if not (raised and line.startswith((" ", "\t"))))
    said = "\n".join(lines)
    for pattern, cause, fault in _OF_MESSAGE:
        if re.search(pattern, said, re.MULTILINE):
            return cause, fault
    if raised or number is not None:
        return Cause.EXCEPTION if raised else Cause.SIGNAL, Fault.WORKLOAD
    return (Cause.NOT_STARTED, Fault.USER) if code in _NOT_FOUND else (Cause.EXIT, Fault.WORKLOAD)


# --- of the job


class _Ended(Struct, frozen=True):
    """The end of a pod."""

    place: Place
    name: str
    end: End
    attempt: int

    def seconds_to(self, later: str) -> int:
        """Return the seconds from it to a later time; 0 if one of them is unknown."""
        return seconds_between(self.end.at, later) or 0


def failure_of(snapshot: Snapshot) -> Failure | None:
    """Return why the last attempt of the job failed that did; None if no pod has failed, and none was restarted."""
    ranks = first_ranks(snapshot.record)
    ends = [
        _Ended(place_of(pod, ranks), name_of(pod), end, _termination(pod)[1])
        for pod in snapshot.pods
        if (end := end_of(pod)) is not None
    ]
    if not ends:
        return _of_deleted_pods(snapshot)
    last = max(each.end.at for each in ends)
    ends = sorted((each for each in ends if each.seconds_to(last) <= SAME_ATTEMPT), key=lambda each: order_of(each.end))
    earliest, step = ends[0], order_of(ends[0].end)[0]
    first = [each for each in ends if order_of(each.end)[0] == step and earliest.seconds_to(each.end.at) <= SAME_TIME]
    first.sort(key=lambda each: each.place)
    later = [earliest.seconds_to(each.end.at) for each in ends if each not in first]
    return Failure(
        pods=tuple(each.name for each in first),
        ranks=tuple(each.place.rank for each in first if each.place.rank is not None),
        end=earliest.end,
        cascade=len(later),
        cascade_seconds=max(later, default=0),
        attempt=restarts_of_job(mapping(value_at(snapshot.job, "status"))) + earliest.attempt,
    )


def order_of(end: End) -> tuple[int, str]:
    """Return the key that sorts ends: a cause before its cascade, then the earlier one."""
    return _CASCADE.get(end.cause, 0), end.at


def _of_deleted_pods(snapshot: Snapshot) -> Failure | None:
    """Return what the job object says of an attempt whose pods the operator has deleted, and when; None if none
    were."""
    status = mapping(value_at(snapshot.job, "status"))
    failed = next((each for each in mappings(status.get("conditions")) if _is_failure(each)), {})
    attempt = restarts_of_job(status) + (bool(failed) and not snapshot.pods)
    if not attempt:
        return None
    at, said = str(failed.get("lastTransitionTime", "")), masked_lines(str(failed.get("message", "")))
    deleted = f"attempt {attempt}: its pods were deleted{f' at {clock(at, snapshot.read_at)}' if at else ''}"
    return Failure((), (), attempt=attempt, note="; ".join(filter(None, [said, deleted])))


def _is_failure(found: Mapping[str, Any]) -> bool:
    """Return True for a condition `Failed` or a restart: Volcano's have a phase in `status`, others a type."""
    kind, status = found.get("type"), found.get("status")
    return status in ("Failed", "Restarting") or (kind == "Failed" and status == "True")
