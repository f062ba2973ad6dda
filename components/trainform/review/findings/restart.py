"""Findings about what runs: jobs that are restarted, started again or stopped, pods that end, and replacements that
nothing explains."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.review.context import Context
from trainform.review.cost import spent_by
from trainform.review.fate import Fate, fate
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding

RESTARTED = kind("TR-RESTART-1")
FINISHED = kind("TR-RESTART-2")
GONE = kind("TR-RESTART-3")
EVICTED = kind("TR-RESTART-4")
STOPPED = kind("TR-RESTART-5")
UNEXPLAINED = kind("TR-UNKNOWN-1")


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings of each job, in the order of the preview."""
    for job in context.jobs:
        happens = fate(context, job)
        if happens.kind == "replace":
            yield from _replaced(happens, context)
        elif happens.kind == "delete" and happens.is_running:
            title = f"The running job {happens.name} is stopped{_spent(happens, context)}."
            yield STOPPED.finding(happens.name, title=title)
        elif happens.kind == "delete" and happens.not_read:
            title = f"The job {happens.name} is deleted; whether it runs is not known: {happens.not_read}."
            yield STOPPED.weighing("medium").finding(happens.name, title=title)
        elif happens.again:
            title = f"The job {happens.next_name}, which was deployed, is created again."
            yield GONE.finding(happens.next_name, title=title)
        yield from () if happens.is_finished else _evicted(happens)


def _spent(happens: Fate, context: Context) -> str:
    money = spent_by(happens, context)
    return "" if money is None else f"; it has cost {money.text}"


def _replaced(happens: Fate, context: Context) -> Iterator[Finding]:
    why = "" if happens.reasons else f" {happens.reason}"  # the place of the finding is the cause
    name = happens.name
    if happens.is_running:
        yield _about(RESTARTED, happens, f"The running job {name} is replaced{why}{_spent(happens, context)}.")
    elif happens.is_finished:
        yield _about(FINISHED, happens, f"The finished job {name} is replaced and trains again{why}.")
    elif happens.not_read:
        title = f"The job {name} is replaced{why}; whether it runs is not known: {happens.not_read}."
        yield _about(RESTARTED.weighing("medium"), happens, title)
    if not happens.reasons and not happens.cut_off:
        versions = f": {happens.versions}" if happens.versions else ""
        title = f"The job {name} is replaced by {happens.next_name} with no visible cause{versions}."
        yield _about(UNEXPLAINED, happens, title)


def _evicted(happens: Fate) -> Iterator[Finding]:
    known = f"; whether they run is not known: {happens.not_read}" if happens.not_read else ""
    for role, before, after in ((each.role, each.before, each.after) for each in happens.scaled):
        if after < before:
            field = f"roles.{role}.replicas"
            title = f"The role {role} of {happens.name} loses {before - after} of its {before} pods{known}."
            place = next((change.place for change in happens.causes.under(field)), None)
            yield EVICTED.finding(
                happens.name, field, before, after, title=title, place=place, identity=happens.job.name
            )


def _about(about: Kind, happens: Fate, title: str) -> Finding:
    """Return a finding about the replacement of the job: another revision makes another finding. What changes is shown
    if it is one field alone; next to the place of the first of several the names of the jobs would be taken for its
    values."""
    place = next((change.place for change in happens.reasons if change.place.file), None)
    found = about.finding(
        happens.name, "", happens.name, happens.next_name, title=title, place=place, identity=happens.job.name
    )
    if not happens.reasons:
        return found
    cause, *others = happens.reasons
    before, after = (None, None) if others else (cause.before, cause.after)
    return found.model_copy(update={"before": before, "after": after})
