"""Findings about changes made outside Pulumi since the last `pulumi up`."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.cluster.live_drift import writer
from trainform.errors import shorten
from trainform.manifests.differences import shown
from trainform.review import steps
from trainform.review.changes import field_differences
from trainform.review.context import Context, JobReview
from trainform.review.job_objects import own_names
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.review.preview import Step

DIFFERS = kind("TR-DRIFT-1")
MISSING = kind("TR-DRIFT-2")
FAILED = kind("TR-DRIFT-3")
GONE = kind("TR-DRIFT-2", "gone")
REFRESHED = kind("TR-DRIFT-1", "refreshed")


def find(context: Context) -> Iterator[Finding]:
    """Yield jobs whose last `up` failed, then fields that differ, then objects that are gone."""
    failed = [job for job in context.jobs if _failed(job)]
    for job in failed:
        deployed = None if job.before is None else job.before.job
        yield FAILED.finding(job.name, before=deployed, deployed=deployed or "nothing")
    refreshed = [step for step in context.preview.refreshed if step.is_object and not steps.is_record(step)]
    for step in refreshed:
        for found in field_differences(step):
            was, now = shown(found)
            name, kind_of = steps.name_before(step), steps.kind(step)
            yield REFRESHED.finding(name, found.path, was, now, kind=kind_of, was=_shown(was), now=_shown(now))
    live = context.live
    for drift in () if live is None or live.drift is None else live.drift:
        by = writer(drift.manager, drift.written, "" if live is None else live.read_at)
        was, now = drift.applied, drift.live
        yield DIFFERS.finding(
            drift.name, drift.path, was, now, kind=drift.kind, was=_shown(was), now=_shown(now), writer=by
        )
    yield from _gone(context, failed, [_key(step) for step in refreshed if step.new is None])


def _gone(context: Context, failed: list[JobReview], not_found: list[str]) -> Iterator[Finding]:
    """Yield the objects that are not in the cluster. failed: jobs whose last `up` failed: the old job goes before the
    new one is refused. not_found: by the refresh."""
    jobs, explained = (
        {name.rpartition("/")[2] for job in each for name in own_names(job)} for each in (context.jobs, failed)
    )
    made_anew = {_key(step) for step in context.preview.steps if step.old is not None and steps.action(step) != "none"}
    for missing in dict.fromkeys([*not_found, *(() if context.live is None else context.live.missing)]):
        type_, _, name = missing.partition("/")
        if name in explained or f"the {type_} {name}" in context.missing:  # a missing Secret of the pods is not drift
            continue
        gone = GONE if missing in made_anew or missing in not_found else MISSING
        gone = gone.weighing("high") if type_ == steps.CLAIM else gone
        which, ttl = (f"job {name}", ", by its `ttl`") if name in jobs else (f"{type_} {name}", "")
        yield gone.finding(name, before=missing, which=which, ttl=ttl)


def _key(step: Step) -> str:
    return f"{steps.kind(step)}/{steps.name(step, step.old)}"


def _failed(job: JobReview) -> bool:
    """Return True if the component, which the engine registers first, has another revision than the record, which comes
    last."""
    if job.component is None or job.component.old is None or job.after is None:
        return False
    asked = job.component.old.identity
    return job.before is None or asked not in ("", job.before.revision)


def _shown(value: object) -> str:
    return "nothing" if value is None else shorten(value)
