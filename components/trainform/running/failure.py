"""Why a pod ended, and which pod of a job failed first: a cause comes before its cascade, then the earlier time."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import structs

from trainform.backends.backend import value_at
from trainform.cluster.live_drift import clock, seconds_between
from trainform.cluster.phases import PodState, pod_state, restarts_of_job
from trainform.console.secrets import masked_lines
from trainform.manifests.manifest import mapping, mappings
from trainform.running.model import Cause, End, Failure, Fault
from trainform.running.pods import containers_of, first_ranks, place_of, places
from trainform.running.snapshot import Body, Snapshot, condition, container_statuses, name_of, text_at

SAME_TIME = 2
"""Seconds between two ends whose order is not known: the kubelet writes whole seconds, and clocks differ."""
SAME_ATTEMPT = 3600
"""Seconds between two ends of one attempt. Collectives that wait for a rank give up after 10 or 30 minutes."""

_ORDER = {Cause.EXIT: 1, Cause.COMMUNICATION: 2, Cause.TERMINATED: 3}
"""Rank of the causes that the failure of another pod can trigger; all others have 0. The pods of the lowest rank failed
first, and of these the earliest."""
CASCADE = (Cause.COMMUNICATION, Cause.TERMINATED)
_FAILED = ("Failed", "Terminated", "Restarting")  # conditions

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
# Patterns in the output of programs. The first one that matches decides.
_OF_MESSAGE: tuple[tuple[str, Cause, Fault], ...] = (
    (r"uncorrectable (NVLink|ECC)|\bXid\b|GPU is lost|fallen off the bus", Cause.EXCEPTION, Fault.PLATFORM),
    (r"no CUDA-capable device|driver version is insufficient|initialize NVML", Cause.EXCEPTION, Fault.PLATFORM),
    (r"No space left on device|Input/output error|Stale file handle", Cause.EXCEPTION, Fault.PLATFORM),
    (r"OutOfMemoryError|out of memory|\bMemoryError\b|bad_alloc", Cause.OOM, Fault.WORKLOAD),
    (
        r"NCCL error|WorkNCCL|Dist(Backend|Network|Store)Error|Rendezvous\w*Error|gloo/transport|ConnectionError"
        r"|BrokenPipe|Connection(Reset|Refused|Aborted)Error|[Cc]onnection (reset|refused|closed)|[Hh]eartbeat time"
        r"|hosts did not answer within|lost communication|DEADLINE_EXCEEDED",
        Cause.COMMUNICATION,
        Fault.PLATFORM,
    ),
    (r"SignalException|got signal: 15", Cause.TERMINATED, Fault.PLATFORM),
    (r"can't open file|^trainform: the image has no", Cause.NOT_STARTED, Fault.USER),
)
_TRACEBACK = "Traceback (most recent call last):"
_ROOT = re.compile(r"torchrun: .*\bexitcode (-?\d+)")
"""The first line of a message: what torchrun reports of the process that failed first (`message.awk`)."""
_OVER_LIMIT = re.compile(r"exceed.*\blimit")
"""The kubelet's words on a pod that has used more disk than its own limit."""
_SIGNALS = {int(each): each.name for each in signal.Signals}


Pod = TypeVar("Pod")


class FailedRun(NamedTuple, Generic[Pod]):
    """A run of a pod that failed. began: its start, "" if the kubelet does not write it."""

    pod: Pod
    began: str
    end: End


def end_of(pod: Body) -> End | None:
    """Return how the pod ended, or the run before a restart in place; None if nothing ended with an error."""
    name, container = termination(pod)
    status, disruption = mapping(pod.get("status")), condition(pod, "DisruptionTarget")
    disrupted = disruption.get("reason") if disruption.get("status") == "True" else ""
    known = _BY_REASON.get(str(status.get("reason"))) or _BY_REASON.get(str(disrupted))
    if not container and known is None and status.get("phase") == "Failed" and status.get("reason"):
        known = (Cause.NOT_STARTED, Fault.PLATFORM)  # refused by the kubelet: `OutOfnvidia.com/gpu`
    if not container and known is None:
        return None
    code = container.get("exitCode")
    message = str(container.get("message") or status.get("message") or disruption.get("message") or "").rstrip("\n")
    root = _ROOT.match(message)
    of_process = code if root is None else int(root[1])
    number = _signal(container, of_process)
    # without SIGKILL, the kernel killed a child process
    if container.get("reason") != "OOMKilled" or number == signal.SIGKILL:
        known = known or _BY_REASON.get(str(container.get("reason")))
    if known is None and number == signal.SIGKILL and text_at(pod, "metadata.deletionTimestamp"):
        known = _BY_SIGNAL[signal.SIGTERM]  # it did not end in time
    cause, fault = known or _cause(message, of_process, number)
    if cause is Cause.EVICTED and _OVER_LIMIT.search(message):
        fault = Fault.WORKLOAD
    times = (str(each.get("lastTransitionTime", "")) for each in mappings(status.get("conditions")))
    at = str(container.get("finishedAt") or max(times, default=""))
    word = None if number is None else _SIGNALS.get(number, str(number))
    return End(cause, fault, code, word, masked_lines(message), at, name)


def error_line(end: End) -> str:
    """Return the line of the message that names the error: the exception of the last traceback, torchrun's report of
    the process that failed first, or why no program was started; "" if it has none of these."""
    if end.cause is Cause.NOT_STARTED:
        return end.message.rpartition("\n")[2]
    _, raised, rest = end.message.rpartition(_TRACEBACK)
    root = end.message.partition("\n")[0] if _ROOT.match(end.message) else ""
    if not raised or (root and end.signal is not None):
        return root
    return next((line for line in rest.splitlines() if line.strip() and not line[0].isspace()), root)


def termination(pod: Body) -> tuple[str, Mapping[str, Any]]:
    """Return the container whose end counts, and its state; empty if there is none. The main one ("") comes before all
    others, which do not count while it runs."""
    states = [
        (str(each.get("name")), mapping(mapping(each.get(field)).get("terminated")))
        for field in ("state", "lastState")
        for each in container_statuses(pod)
    ]
    ends = [(name, state) for name, state in states if state.get("exitCode")]
    own = [state for name, state in ends if name == containers_of(pod)[0]]
    if own or pod_state(pod) is PodState.RUNNING:
        return "", next(iter(own), {})
    return min(ends, key=lambda each: str(each[1].get("finishedAt", "")), default=("", {}))


def _signal(container: Mapping[str, Any], code: int | None) -> int | None:
    """Return the signal by which the process ended: a shell adds 128 to it, and Python negates it."""
    exited = 0 if code is None else -code if code < 0 else code - 128
    number = int(container.get("signal") or exited)
    return number if 0 < number <= signal.NSIG else None


def _cause(message: str, code: int | None, number: int | None) -> tuple[Cause, Fault]:
    """Return the cause by what the program wrote, and by how it ended."""
    raised = _TRACEBACK in message
    if raised and code != 1 and number != signal.SIGABRT:
        message, raised = "", False  # it was handled, or is of another process: Python ends with 1
    if number is not None and number != signal.SIGABRT and not raised:
        return _BY_SIGNAL.get(number, (Cause.SIGNAL, Fault.WORKLOAD))
    # of a traceback the last error counts, and not code that it passed
    lines = (line for line in message.rpartition(_TRACEBACK)[2].splitlines() if not (raised and line[:1].isspace()))
    said = "\n".join(lines)
    for pattern, cause, fault in _OF_MESSAGE:
        if re.search(pattern, said, re.MULTILINE):
            return cause, fault
    if raised or number is not None:
        return Cause.EXCEPTION if raised else Cause.SIGNAL, Fault.WORKLOAD
    return (Cause.NOT_STARTED, Fault.USER) if code in (126, 127) else (Cause.EXIT, Fault.WORKLOAD)


# --- of the job


def failure_of(snapshot: Snapshot) -> Failure | None:
    """Return why the job, or an attempt of it, failed last; None if no pod has failed, and none was restarted."""
    ranks, total = first_ranks(snapshot.record), len(places(snapshot.record))
    runs = [
        FailedRun(pod, text_at(termination(pod)[1], "startedAt"), end)
        for pod in snapshot.pods
        if (end := end_of(pod)) is not None
    ]
    if not runs:
        return _failure_from_job(snapshot)
    first, rest = first_failures(runs)
    end, note = first[0].end, ""
    placed = sorted(((place_of(run.pod, ranks), run.pod) for run in first), key=lambda each: each[0])
    later = [seconds_between(end.at, run.end.at) or 0 for run in rest]
    gone = total - sum(text_at(pod, "metadata.creationTimestamp") <= end.at for pod in snapshot.pods)
    if end.cause in CASCADE and gone > 0:
        end, note = structs.replace(end, fault=None), f"missing: {gone} of {total} pods, which may have failed first"
    return Failure(
        pods=tuple(name_of(pod) for _, pod in placed),
        ranks=tuple(place.rank for place, _ in placed if place.rank is not None),
        end=end,
        cascade=len(later),
        cascade_seconds=max(later, default=0),
        note=note,
    )


def first_failures(runs: Sequence[FailedRun[Pod]]) -> tuple[list[FailedRun[Pod]], list[FailedRun[Pod]]]:
    """Return the runs that failed first in the last attempt, the earliest one before the others, and the runs that
    failed after them. runs: at least one."""
    last = max(runs, key=lambda run: run.end.at)
    begun = min(last.began, last.end.at)  # what ended before is of an earlier attempt
    attempt = [
        run for run in runs if run.end.at >= begun and (seconds_between(run.end.at, last.end.at) or 0) <= SAME_ATTEMPT
    ]
    attempt.sort(key=lambda run: order_of(run.end))
    step, at = order_of(attempt[0].end)
    first, rest = list[FailedRun[Pod]](), list[FailedRun[Pod]]()
    for run in attempt:
        same = order_of(run.end)[0] == step and (seconds_between(at, run.end.at) or 0) <= SAME_TIME
        (first if same else rest).append(run)
    return first, rest


def order_of(end: End) -> tuple[int, str]:
    """Return the key that sorts ends: a cause before its cascade, then the earlier one."""
    return _ORDER.get(end.cause, 0), end.at


def _failure_from_job(snapshot: Snapshot) -> Failure | None:
    """Return what the job object says last of a failure or a restart whose pods are deleted; None if there was none."""
    status = mapping(value_at(snapshot.job, "status"))
    true = [each for each in mappings(status.get("conditions")) if each.get("status") != "False"]
    words = [(str(each.get("type", each.get("status"))), each) for each in true]  # Volcano's have no type
    word, found = next((each for each in words[::-1] if each[0] in _FAILED), ("", dict[str, Any]()))
    if not restarts_of_job(status) and (snapshot.pods or not found):
        return None
    at, said = str(found.get("lastTransitionTime", "")), masked_lines(str(found.get("message", "")))
    known = _BY_REASON.get(str(found.get("reason")))
    deleted = "pods were recreated" if snapshot.pods else "pods were deleted"
    deleted += f" ({word} at {clock(at, snapshot.read_at)})" if at else ""
    if known is not None:
        return Failure((), (), End(*known, None, None, said, at), note=deleted)
    return Failure((), (), note=f"{said}; {deleted}" if said else deleted)
