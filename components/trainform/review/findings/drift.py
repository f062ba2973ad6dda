"""Findings about changes made outside Pulumi since the last `pulumi up`."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.cluster.drift import writer
from trainform.errors import shorten
from trainform.review import steps, wanted
from trainform.review.causes import of_experiment
from trainform.review.changes import field_differences
from trainform.review.context import Context, JobReview
from trainform.review.difference import shown
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.review.objects import own_names
from trainform.review.preview import Preview, Step

DIFFERS = kind("TR-DRIFT-1")
MISSING = kind("TR-DRIFT-2")
FAILED = kind("TR-DRIFT-3")
GONE = kind("TR-DRIFT-2", "gone")
REFRESHED = kind("TR-DRIFT-1", "refreshed")
CLAIM = "PersistentVolumeClaim"
STREAM = "stream"


def find(context: Context) -> Iterator[Finding]:
    """Jobs whose last `up` failed, then fields that differ, then objects that are gone."""
    failed = [job for job in context.jobs if _failed(job)] if _has_all_parts(context.preview) else []
    for job in failed:
        deployed = None if job.before is None else job.before.job
        title = f"The last `pulumi up` of {job.name} did not succeed; recorded as deployed: {deployed or 'nothing'}."
        yield FAILED.finding(job.name, before=deployed, title=title)
    refreshed = [step for step in context.preview.refreshed if step.is_object and not steps.is_record(step)]
    for step in refreshed:
        yield from _found_by_refresh(step)
    live = context.live
    for drift in () if live is None or live.drift is None else live.drift:
        title = (
            f"The live {drift.kind} {drift.name} differs in {drift.path}: applied was {_shown(drift.applied)}, the "
            f"cluster has {_shown(drift.live)}"
            f" ({writer(drift.manager, drift.written, '' if live is None else live.read_at)})."
        )
        yield DIFFERS.finding(drift.name, drift.path, drift.applied, drift.live, title=title)
    jobs = {name.rpartition("/")[2] for job in context.jobs for name in own_names(job)}
    explained = {name.rpartition("/")[2] for job in failed for name in own_names(job)}
    made_anew = {_key(step) for step in context.preview.steps if step.old is not None and steps.fate(step) != "none"}
    not_found = [_key(step) for step in refreshed if step.new is None]
    for missing in dict.fromkeys([*not_found, *(() if live is None else live.missing)]):
        type_, _, name = missing.partition("/")
        # the old job goes before the new one is refused; a missing Secret of the pods is not drift
        if name in explained or f"the {type_} {name}" in context.missing:
            continue
        gone = GONE if missing in made_anew or missing in not_found else MISSING
        gone = gone.weighing("high") if type_ == CLAIM else gone
        the, by_ttl = (f"job {name}", ", by its `ttl`") if name in jobs else (f"{type_} {name}", "")
        title = f"The {the} is not in the cluster: it was deleted by hand{by_ttl}, or by an `up` that ended half way."
        yield gone.finding(name, before=missing, title=title)


def _has_all_parts(preview: Preview) -> bool:
    """False where components that do not change are missing, or may be: what was wanted cannot be put together from the
    rest."""
    return preview.form == STREAM and not preview.incomplete


def _found_by_refresh(step: Step) -> Iterator[Finding]:
    """The fields of which the refresh has found something else than was applied, so that the other steps of the preview
    begin with that."""
    name = steps.name_before(step)
    for found in field_differences(step):
        was, is_now = shown(found)
        title = (
            f"The live {steps.kind(step)} {name} differs in {found.path}: applied was {_shown(was)}, and after the "
            f"refresh the stack's state has {_shown(is_now)}."
        )
        yield REFRESHED.finding(name, found.path, was, is_now, title=title)


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
