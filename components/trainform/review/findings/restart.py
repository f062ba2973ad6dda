"""Findings about what runs: jobs that start again or stop, pods that end, and replacements without a cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.review.context import Context
from trainform.review.cost import spent_by
from trainform.review.job_change import JobChange, job_change
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding

RESTARTED = kind("TR-RESTART-1")
NOT_READ = kind("TR-RESTART-1", "not_read")
FINISHED = kind("TR-RESTART-2")
GONE = kind("TR-RESTART-3")
EVICTED = kind("TR-RESTART-4")
SUSPENDED = kind("TR-RESTART-7")
SUSPEND_NOT_READ = kind("TR-RESTART-7", "not_read")
STOPPED = kind("TR-RESTART-5")
STOP_NOT_READ = kind("TR-RESTART-5", "not_read")
UNEXPLAINED = kind("TR-UNKNOWN-1")


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings of each job, in the order of the preview."""
    for job in context.jobs:
        happens = job_change(context, job)
        if happens.kind == "replace":
            yield from _replaced(happens, context)
        elif happens.kind == "delete" and happens.state == "running":
            yield STOPPED.finding(happens.name, spent=_spent(happens, context))
        elif happens.kind == "delete" and happens.not_read:
            yield STOP_NOT_READ.finding(happens.name, not_read=happens.not_read)
        elif happens.kind == "suspend" and happens.state == "running":
            yield SUSPENDED.finding(happens.name, spent=_spent(happens, context))
        elif happens.kind == "suspend" and happens.not_read:
            yield SUSPEND_NOT_READ.finding(happens.name, not_read=happens.not_read)
        elif happens.again:
            yield GONE.finding(happens.next_name)
        yield from () if happens.state == "finished" else _evicted(happens)


def _spent(happens: JobChange, context: Context) -> str:
    money = spent_by(happens, context)
    return "" if money is None else f"; it has cost {money.text}"


def _replaced(happens: JobChange, context: Context) -> Iterator[Finding]:
    why = "" if happens.reasons else f" {happens.reason}"  # the place of the finding is the cause
    if happens.state == "running":
        yield _about(RESTARTED, happens, why=why, spent=_spent(happens, context))
    elif happens.state == "finished":
        yield _about(FINISHED, happens, why=why)
    elif happens.not_read:
        yield _about(NOT_READ, happens, why=why, not_read=happens.not_read)
    if not happens.reasons and not happens.cut_off and not happens.new_scripts:
        versions = f": {happens.versions}" if happens.versions else ""
        yield _about(UNEXPLAINED, happens, next_name=happens.next_name, versions=versions)


def _evicted(happens: JobChange) -> Iterator[Finding]:
    known = f"; whether they run is not known: {happens.not_read}" if happens.not_read else ""
    for role, before, after in ((each.role, each.before, each.after) for each in happens.scaled):
        if after < before:
            field, lost, identity = f"roles.{role}.replicas", before - after, happens.job.name
            place = next((change.place for change in happens.causes.under(field)), None)
            yield EVICTED.finding(
                happens.name, field, before, after, place=place, identity=identity, role=role, lost=lost, known=known
            )


def _about(about: Kind, happens: JobChange, **words: str) -> Finding:
    """Return a finding about the replacement of the job: another revision makes another finding. Values are shown if
    one field alone changes, since the place is that of the first."""
    place = next((change.place for change in happens.reasons if change.place.file), None)
    values: list[Any] = [(change.before, change.after) for change in happens.reasons]
    before, after = values[0] if len(values) == 1 else (None, None)
    identity = f"{happens.job.name} {happens.name} {happens.next_name}"
    return about.finding(happens.name, "", before, after, place=place, identity=identity, **words)
