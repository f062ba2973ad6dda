"""Wait until a job runs or has succeeded, or until it no longer can: its status is read again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from trainform.cluster.live_drift import utc_now
from trainform.cluster.phases import Phase
from trainform.errors import ClusterError
from trainform.running.model import Fault, JobStatus

WORKLOAD, NEVER, TIMEOUT, PLATFORM = 4, 5, 6, 7
"""Exit codes of a wait that does not reach its goal."""
REACHED: Mapping[str, frozenset[Phase]] = {
    "running": frozenset({Phase.RUNNING, Phase.SUCCEEDED}),
    "succeeded": frozenset({Phase.SUCCEEDED}),
}
"""The phases in which a goal is reached."""
FAILED: Mapping[Fault | None, int] = {None: WORKLOAD, Fault.WORKLOAD: WORKLOAD}
"""Exit codes of a failed job by its fault; of every other fault `PLATFORM`."""
LEAST_SECONDS, MOST_SECONDS, QUIET = 2.0, 15.0, 20
"""The bounds of a pause between two reads, which is this fraction of the time since the last change."""


class Change(Struct, frozen=True):
    """A change of the status. at: RFC 3339. phase: "" while the cluster does not answer. code: of the first reason."""

    at: str
    job: str
    phase: str
    code: str
    why: str


class Ended(Struct, frozen=True):
    """The end of a wait."""

    exit_code: int
    reason: str


class Clock(Struct, frozen=True):
    """The functions for time, which tests replace."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


CLOCK = Clock()


def wait(
    read: Callable[[], JobStatus],
    goal: str,
    seconds: float | None,
    show: Callable[[Change], None],
    clock: Clock = CLOCK,
) -> Ended:
    """Read the status until the goal is reached or out of reach, and show each change of it.

    seconds: the longest wait; None: no limit. ClusterError if the first read fails; later ones are tried again. A job
    that never fits is read twice, since the cluster may not have all of its new objects yet.
    """
    last: JobStatus | None = None
    job, shown, never = "", ("", ""), False
    for found in _statuses(read, seconds, clock):
        if isinstance(found, ClusterError):
            if last is None:
                raise found
            change, ended = Change(utc_now(), job, "", "cluster", found.message), None
        else:
            last, job = found, job if job else found.job
            code = found.reasons[0].code if found.reasons else ""
            change, ended = Change(found.read_at, job, found.phase, code, why(found)), verdict(found, goal, job)
        if (change.phase, change.code) != shown:
            show(change)
            shown = change.phase, change.code
        if ended is not None and (ended.exit_code != NEVER or never):
            return ended
        never = ended is not None
    state = "" if last is None else _because(f"{job} is {last.phase}", why(last))
    return Ended(TIMEOUT, f"timed out: {state}")


def _statuses(read: Callable[[], JobStatus], seconds: float | None, clock: Clock) -> Iterator[JobStatus | ClusterError]:
    """Yield the status, or why it cannot be read, until the time is up."""
    begun = changed = clock.now()
    phase: str | None = None
    while True:
        found: JobStatus | ClusterError
        try:
            found = read()
        except ClusterError as error:
            found = error
        yield found
        now, before = clock.now(), phase
        phase = found.phase if isinstance(found, JobStatus) else None
        changed = changed if phase == before else now
        pause = min(max(LEAST_SECONDS, (now - changed) / QUIET), MOST_SECONDS)
        left = pause if seconds is None else begun + seconds - now
        if left <= 0:
            return
        clock.sleep(min(pause, left))


def verdict(status: JobStatus, goal: str, job: str) -> Ended | None:
    """Return the end of a wait for the job object of this name; None while the goal can still be reached."""
    if status.job != job:
        return Ended(PLATFORM, f"{job} is gone: {status.job} has replaced it")
    if status.phase in REACHED[goal]:
        return Ended(0, f"{job} {'has succeeded' if status.phase is Phase.SUCCEEDED else 'is running'}")
    if status.phase is Phase.GONE:
        return Ended(PLATFORM, _because(f"{job or status.experiment} is gone", why(status)))
    if status.phase is Phase.FAILED:
        return Ended(FAILED.get(status.fault, PLATFORM), _because(f"{job} has failed", why(status)))
    never = next((reason.text for reason in status.reasons if reason.never), None)
    return None if never is None else Ended(NEVER, f"{job} never starts: {never}")


def why(status: JobStatus) -> str:
    """Return the reason for the phase on one line; "" if it needs none, or if that is unknown."""
    if status.reasons:
        return status.reasons[0].text
    if status.failure is None:
        return status.message
    end = status.failure.end
    if end is None:
        return status.failure.note
    code = "" if end.exit_code is None else f", exit code {end.exit_code}"
    first = _because(" or ".join(status.failure.pods), f"{end.cause}{code}")
    return _because(first, end.message.strip().rpartition("\n")[2])


def _because(what: str, reason: str) -> str:
    return f"{what}: {reason}" if what and reason else what or reason
