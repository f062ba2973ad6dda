"""Why a pod ended, and which pod of a job failed first: a cause comes before its cascade, then the earlier time."""

from __future__ import annotations

import datetime
import re
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.cluster.phases import restarts_of_job
from trainform.console.secrets import masked_lines
from trainform.manifests.manifest import mapping, mappings
from trainform.running.model import Cause, End, Failure, Fault
from trainform.running.pods import Place, first_ranks, place_of
from trainform.running.snapshot import Body, Snapshot

SAME_TIME = 2
"""Seconds between two ends whose order is not known: the kubelet writes whole seconds, and clocks differ."""
SAME_ATTEMPT = 3600
"""Seconds between two ends of one attempt. Collectives that wait for a rank give up after 10 or 30 minutes."""

_CASCADE = {Cause.EXIT: 1, Cause.COMMUNICATION: 2, Cause.TERMINATED: 3}
"""Causes that may follow from another pod's, the later the surer. Of others the earliest end is the first."""

# What the kubelet and controllers write: reasons of a pod, of its condition DisruptionTarget, and of a container.
_OF_POD: dict[str, tuple[Cause, Fault]] = {
    "Evicted": (Cause.EVICTED, Fault.PLATFORM),
    "Preempting": (Cause.EVICTED, Fault.PLATFORM),
    "DeadlineExceeded": (Cause.DEADLINE, Fault.USER),
    **dict.fromkeys(("NodeLost", "NodeShutdown", "Terminated"), (Cause.NODE_LOST, Fault.PLATFORM)),
    "UnexpectedAdmissionError": (Cause.NOT_STARTED, Fault.PLATFORM),
}
_OF_DISRUPTION: dict[str, tuple[Cause, Fault]] = {
    "PreemptionByScheduler": (Cause.EVICTED, Fault.QUEUE),
    **dict.fromkeys(("EvictionByEvictionAPI", "TerminationByKubelet"), (Cause.EVICTED, Fault.PLATFORM)),
    **dict.fromkeys(("DeletionByTaintManager", "DeletionByPodGC"), (Cause.NODE_LOST, Fault.PLATFORM)),
}
_OF_CONTAINER: dict[str, tuple[Cause, Fault]] = {
    "OOMKilled": (Cause.OOM, Fault.WORKLOAD),
    "ContainerStatusUnknown": (Cause.NODE_LOST, Fault.PLATFORM),
    **dict.fromkeys(("StartError", "ContainerCannotRun"), (Cause.NOT_STARTED, Fault.USER)),
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
# No program asks for SIGKILL itself.
_OF_SIGNAL: dict[int, tuple[Cause, Fault]] = {
    signal.SIGTERM: (Cause.TERMINATED, Fault.PLATFORM),
    signal.SIGKILL: (Cause.SIGNAL, Fault.PLATFORM),
}


class _Ended(Struct, frozen=True):
    """The end of a pod, in seconds, with its place and name."""

    seconds: float
    place: Place
    name: str
    end: End
    attempt: int


def end_of(pod: Body) -> End | None:
    """Return the end of the pod's first container that ended with an error, or of the last one that was restarted in
    place; None if there is none."""
    found = _termination(pod)
    status, container = mapping(pod.get("status")), {} if found is None else found[0]
    disruption = next(
        (each for each in mappings(status.get("conditions")) if each.get("type") == "DisruptionTarget"), {}
    )
    known = _OF_POD.get(str(status.get("reason")))
    if known is None and disruption.get("status") == "True":
        known = _OF_DISRUPTION.get(str(disruption.get("reason")))
    if found is None and known is None:
        return None
    code = container.get("exitCode")
    message = str(container.get("message") or status.get("message") or disruption.get("message") or "").rstrip("\n")
    root = _ROOT.match(message)
    number = _signal(container, code if root is None else int(root[1]))
    asked = "deletionTimestamp" in mapping(pod.get("metadata")) and number == signal.SIGKILL  # it did not end in time
    cause, fault = (
        known
        or _OF_CONTAINER.get(str(container.get("reason")))
        or (_OF_SIGNAL[signal.SIGTERM] if asked else _cause(message, code, number))
    )
    times = (str(each.get("lastTransitionTime", "")) for each in mappings(status.get("conditions")))
    at = str(container.get("finishedAt") or max(times, default=""))
    return End(cause, fault, code, None if number is None else _name(number), masked_lines(message), at)


def _termination(pod: Body) -> tuple[Mapping[str, Any], int] | None:
    """Return the state of the container whose end counts, with the number of its attempt."""
    status = mapping(pod.get("status"))
    containers = [*mappings(status.get("initContainerStatuses")), *mappings(status.get("containerStatuses"))]
    for field, more in (("state", 1), ("lastState", 0)):
        ends = [
            (mapping(mapping(each.get(field)).get("terminated")), each.get("restartCount", 0)) for each in containers
        ]
        failed = [(end, count + more) for end, count in ends if end.get("exitCode")]
        if failed:
            return min(failed, key=lambda each: str(each[0].get("finishedAt", "")))
    return None


def _signal(container: Mapping[str, Any], code: int | None) -> int | None:
    """Return the signal by which the process ended: a shell adds 128 to it, and Python negates it."""
    if container.get("signal"):
        return int(container["signal"])
    if code is None or 0 <= code <= 128 or code > 128 + signal.NSIG:
        return None
    return -code if code < 0 else code - 128


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _cause(message: str, code: int | None, number: int | None) -> tuple[Cause, Fault]:
    """Return the cause by what the program wrote, and by how it ended. Of a traceback the error counts, and not code
    that it passed."""
    lines = message.splitlines()
    raised = _HEAD in message
    said = "\n".join(line for line in lines if not line.startswith((" ", "\t"))) if raised else message
    if number is not None and number != signal.SIGABRT and not raised:
        return _OF_SIGNAL.get(number, (Cause.SIGNAL, Fault.WORKLOAD))
    for pattern, cause, fault in _OF_MESSAGE:
        if re.search(pattern, said, re.MULTILINE):
            return cause, fault
    if raised:
        return Cause.EXCEPTION, Fault.WORKLOAD
    if number is not None:
        return Cause.SIGNAL, Fault.WORKLOAD
    return (Cause.NOT_STARTED, Fault.USER) if code in _NOT_FOUND else (Cause.EXIT, Fault.WORKLOAD)


# --- of the job


def failure_of(snapshot: Snapshot) -> Failure | None:
    """Return why the last attempt of the job failed that did; None if no pod has failed, and none was restarted."""
    found = _of_one_attempt(sorted(_ends(snapshot), key=lambda each: each.seconds))
    if not found:
        return _of_deleted_pods(snapshot)
    step = min(order_of(each.end)[0] for each in found)
    causes = [each for each in found if order_of(each.end)[0] == step]
    first = sorted(
        (each for each in causes if each.seconds - causes[0].seconds <= SAME_TIME), key=lambda each: each.place
    )
    earliest = causes[0]
    later = [each for each in found if each not in first]
    return Failure(
        pods=tuple(each.name for each in first),
        ranks=tuple(each.place.rank for each in first if each.place.rank is not None),
        end=earliest.end,
        cascade=len(later),
        cascade_seconds=max((round(max(0, each.seconds - earliest.seconds)) for each in later), default=0),
        attempt=restarts_of_job(mapping(mapping(snapshot.job).get("status"))) + earliest.attempt,
    )


def order_of(end: End) -> tuple[int, float]:
    """Return the key that sorts ends: a cause before its cascade, then the earlier one."""
    return _CASCADE.get(end.cause, 0), _seconds(end.at)


def _ends(snapshot: Snapshot) -> Iterator[_Ended]:
    ranks = first_ranks(snapshot.record)
    for pod in snapshot.pods:
        end, found = end_of(pod), _termination(pod)
        if end is not None:
            name = str(mapping(pod.get("metadata")).get("name", ""))
            yield _Ended(_seconds(end.at), place_of(pod, ranks), name, end, 1 if found is None else found[1])


def _of_one_attempt(ends: list[_Ended]) -> list[_Ended]:
    """Return the ends of the last attempt: between two attempts is a longer time."""
    start = 0
    for index in range(1, len(ends)):
        if ends[index].seconds - ends[index - 1].seconds > SAME_ATTEMPT:
            start = index
    return ends[start:]


def _seconds(at: str) -> float:
    try:
        return datetime.datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def _of_deleted_pods(snapshot: Snapshot) -> Failure | None:
    """Return what is known of an attempt whose pods the operator has deleted: what the job object says, and when."""
    status = mapping(mapping(snapshot.job).get("status"))
    restarts = restarts_of_job(status)
    failed = next((each for each in mappings(status.get("conditions")) if _is_failure(each)), {})
    if not restarts and (not failed or snapshot.pods):
        return None
    attempt = restarts if snapshot.pods or not failed else restarts + 1
    at = str(failed.get("lastTransitionTime", ""))
    deleted = f"attempt {max(attempt, 1)}: its pods were deleted{f' at {at[11:16]} UTC' if at else ''}"
    said = str(failed.get("message", ""))
    return Failure((), (), attempt=max(attempt, 1), note="; ".join(filter(None, [masked_lines(said), deleted])))


def _is_failure(condition: Mapping[str, Any]) -> bool:
    """Return True for a condition `Failed` or a restart: Volcano's have a phase in `status`, others a type."""
    words = (condition.get("type"), condition.get("status"))
    return words == ("Failed", "True") or condition.get("status") in ("Failed", "Restarting")
