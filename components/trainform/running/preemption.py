"""How a job was evicted, until its pods start again: by which job if Kueue reports it, else what runs on its nodes."""

from __future__ import annotations

import re

from trainform import defaults
from trainform.errors import list_names
from trainform.review.pod_limits import MOST_NAMED
from trainform.running.case import Case, condition, name_of, text_at, words_of
from trainform.running.facts import EVICTIONS, UNREAD, Facts
from trainform.running.read import event_time
from trainform.running.snapshot import Snapshot

PREEMPTOR = re.compile(r"JobUID: ([\w-]+)\).*preemptor path: (\S+);")


def preemption(snapshot: Snapshot, facts: Facts = UNREAD) -> str:
    """Return how the job was evicted, in words; "" if it was not, or if its pods have started since."""
    case = Case(snapshot, facts)
    at, text = (_by_kueue if snapshot.admission == defaults.KUEUE else _by_scheduler)(case)
    started = max((text_at(pod, "status.startTime") for pod in case.pods), default="")
    return "" if started > at else text


def _by_kueue(case: Case) -> tuple[str, str]:
    """Return when Kueue evicted the job, and by which one."""
    evicted, kueue = condition(case.snapshot.gang, "Evicted"), case.facts.live.kueue
    if evicted.get("status") != "True":
        return "", ""
    at, message = text_at(evicted, "lastTransitionTime"), text_at(evicted, "message")
    preemptor = PREEMPTOR.search(message)
    if preemptor is None:
        return at, f"evicted at {_clock(at, case)} by Kueue: {words_of(message)}"
    job = kueue.jobs.get(preemptor[1]) if kueue else None
    return at, f"preempted at {_clock(at, case)} by {job or f'a job in {preemptor[2]} that was not read'}"


def _by_scheduler(case: Case) -> tuple[str, str]:
    """Return the newest eviction. Its event does not name the job that took the room."""
    events = case.events(EVICTIONS)
    if not events:
        return "", ""
    at, own = event_time(events[-1]), f"{case.snapshot.target.namespace}/{name_of(case.snapshot.job)}"
    nodes = [node for node in case.facts.live.nodes or () if node.name in case.facts.nodes]
    jobs = sorted({job for node in nodes for job in node.holders} - {own})
    more = f"; its nodes now run {list_names(jobs, MOST_NAMED)}" if jobs else ""
    how = "reclaimed" if "reclaim" in text_at(events[-1], "message") else "preempted"
    return at, f"{how} at {_clock(at, case)}{more}"


def _clock(at: str, case: Case) -> str:
    """Return the time for people, with the day unless it is today."""
    day, clock = at[:10], f"{at[11:16]} UTC"
    return clock if day == case.snapshot.read_at[:10] else f"{day} {clock}"
