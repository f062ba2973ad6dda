"""Findings about changes made outside Pulumi since the last `pulumi up`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.cluster.drift import writer
from trainform.errors import shorten
from trainform.review import steps, wanted
from trainform.review.causes import of_experiment
from trainform.review.changes import field_differences
from trainform.review.context import Context, JobReview
from trainform.review.difference import shown
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding
from trainform.review.objects import own_names
from trainform.review.preview import Step

DIFFERS = kind("TR-DRIFT-1")
MISSING = kind("TR-DRIFT-2")
FAILED = kind("TR-DRIFT-3")
GONE = kind("TR-DRIFT-2", "gone")
REFRESHED = kind("TR-DRIFT-1", "refreshed")
STREAM = "stream"


def find(context: Context) -> Iterator[Finding]:
    """Yield jobs whose last `up` failed, then fields that differ, then objects that are gone."""
    # without components that do not change, what was wanted cannot be put together
    has_all_parts = context.preview.form == STREAM and not context.preview.incomplete
    failed = [job for job in context.jobs if has_all_parts and _failed(job)]
    for job in failed:
        deployed = None if job.before is None else job.before.job
        title = f"The last `pulumi up` of {job.name} did not succeed; recorded as deployed: {deployed or 'nothing'}."
        yield FAILED.finding(job.name, before=deployed, title=title)
    refreshed = [step for step in context.preview.refreshed if step.is_object and not steps.is_record(step)]
    for step in refreshed:
        for found in field_differences(step):
            was, is_now = shown(found)
            end = f"and after the refresh the stack's state has {_shown(is_now)}"
            yield _differs(REFRESHED, steps.kind(step), steps.name_before(step), found.path, was, is_now, end)
    live = context.live
    for drift in () if live is None or live.drift is None else live.drift:
        by = writer(drift.manager, drift.written, "" if live is None else live.read_at)
        end = f"the cluster has {_shown(drift.live)} ({by})"
        yield _differs(DIFFERS, drift.kind, drift.name, drift.path, drift.applied, drift.live, end)
    yield from _gone(context, failed, [_key(step) for step in refreshed if step.new is None])


def _differs(about: Kind, kind: str, name: str, path: str, applied: Any, live: Any, end: str) -> Finding:
    title = f"The live {kind} {name} differs in {path}: applied was {_shown(applied)}, {end}."
    return about.finding(name, path, applied, live, title=title)


def _gone(context: Context, failed: list[JobReview], not_found: list[str]) -> Iterator[Finding]:
    """Yield the objects that are not in the cluster. failed: jobs whose last `up` failed: the old job goes before the
    new one is refused. not_found: by the refresh."""
    jobs, explained = (
        {name.rpartition("/")[2] for job in each for name in own_names(job)} for each in (context.jobs, failed)
    )
    made_anew = {_key(step) for step in context.preview.steps if step.old is not None and steps.fate(step) != "none"}
    for missing in dict.fromkeys([*not_found, *(() if context.live is None else context.live.missing)]):
        type_, _, name = missing.partition("/")
        if name in explained or f"the {type_} {name}" in context.missing:  # a missing Secret of the pods is not drift
            continue
        gone = GONE if missing in made_anew or missing in not_found else MISSING
        gone = gone.weighing("high") if type_ == steps.CLAIM else gone
        the, by_ttl = (f"job {name}", ", by its `ttl`") if name in jobs else (f"{type_} {name}", "")
        title = f"The {the} is not in the cluster: it was deleted by hand{by_ttl}, or by an `up` that ended half way."
        yield gone.finding(name, before=missing, title=title)


def _key(step: Step) -> str:
    return f"{steps.kind(step)}/{steps.name(step, step.old)}"


def _failed(job: JobReview) -> bool:
    """True if what the components were given is not what is recorded as deployed. Sides of two versions of trainform
    have other defaults, and are not compared."""
    if job.component is None or job.component.old is None or job.after is None:
        return False
    if job.before is None:
        return True
    asked, deployed = wanted.of_components(job, old=True), wanted.before(job)
    if asked is None or deployed is None or job.before.version != job.after.version:
        return False
    return asked.run != deployed.run or bool(of_experiment(asked, deployed, ordered=False))


def _shown(value: object) -> str:
    return "nothing" if value is None else shorten(value)
