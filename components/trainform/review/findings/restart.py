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
    """The findings of each job, in the order of the preview."""
    for job in context.jobs:
        yield from _of_job(fate(context, job), context)


def _of_job(happens: Fate, context: Context) -> Iterator[Finding]:
    money = spent_by(happens, context)
    spent = "" if money is None else f"; it has cost {money.text} since its start"
    if happens.kind == "replace":
        yield from _replaced(happens, spent)
    elif happens.kind == "delete":
        yield from _stopped(happens, spent)
    elif happens.again:
        title = f"The job {happens.next_name}, which was deployed, is created again."
        yield GONE.finding(happens.next_name, title=title)
    for scaled in happens.scaled if not happens.is_finished else ():
        if scaled.after < scaled.before:
            yield _evicted(happens, scaled.role, scaled.before, scaled.after)


def _replaced(happens: Fate, spent: str) -> Iterator[Finding]:
    name, reason = happens.name, happens.reason
    if happens.is_running:
        yield _about(RESTARTED, happens, f"The running job {name} is replaced {reason}{spent}.")
    elif happens.is_finished:
        yield _about(FINISHED, happens, f"The finished job {name} is replaced and trains again {reason}.")
    elif happens.not_read:
        title = f"The job {name} is replaced {reason}; whether it runs is not known: {happens.not_read}."
        yield _about(RESTARTED.weighing("medium"), happens, title)
    if not happens.reasons and not happens.cut_off:
        versions = f": {happens.versions}" if happens.versions else ""
        title = f"The job {name} is replaced by {happens.next_name} with no visible cause{versions}."
        yield _about(UNEXPLAINED, happens, title)


def _stopped(happens: Fate, spent: str) -> Iterator[Finding]:
    if happens.is_running:
        yield STOPPED.finding(happens.name, title=f"The running job {happens.name} is stopped{spent}.")
    elif happens.not_read:
        title = f"The job {happens.name} is deleted; whether it runs is not known: {happens.not_read}."
        yield STOPPED.weighing("medium").finding(happens.name, title=title)


def _evicted(happens: Fate, role: str, before: int, after: int) -> Finding:
    known = "" if not happens.not_read else f"; whether they run is not known: {happens.not_read}"
    title = f"The role {role} of {happens.name} loses {before - after} of its {before} pods{known}."
    field = f"roles.{role}.replicas"
    place = next((change.place for change in happens.causes.under(field)), None)
    return EVICTED.finding(
        happens.name, field=field, before=before, after=after, title=title, place=place, identity=happens.job.name
    )


def _about(about: Kind, happens: Fate, title: str) -> Finding:
    """A finding about the replacement of the job: another revision makes another finding. What changes is shown if it
    is one field alone; beside the place of the first of several the names of the jobs would be taken for its values."""
    place = next((change.place for change in happens.reasons if change.place.file), None)
    found = about.finding(
        happens.name, before=happens.name, after=happens.next_name, title=title, place=place, identity=happens.job.name
    )
    if not happens.reasons:
        return found
    cause, *others = happens.reasons
    before, after = (None, None) if others else (cause.before, cause.after)
    return found.model_copy(update={"before": before, "after": after})
