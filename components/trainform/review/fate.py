"""What happens to each job of a preview, with what is known of it now: the sentences and findings are made from it."""

from __future__ import annotations

import datetime
import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from trainform.cluster.facts import LiveFacts, LiveJob
from trainform.plan.roles import claim_name
from trainform.review import steps, wanted
from trainform.review.causes import VERSION, Causes, because, causes
from trainform.review.context import Context, JobReview
from trainform.review.model import Change
from trainform.review.objects import accelerators_of, demands_of
from trainform.review.preview import Step
from trainform.spec.environment import Environment

FINISHED = ("Completed", "Failed", "Terminated", "Aborted", "Succeeded")
RUNNING = ("Running", "Restarting", "Completing")

MOST_JOBS = 256  # whose fates are kept

PODS = "pods of "  # before the namespace, in what could not be read

JobFate = Literal["none", "create", "update", "scale", "replace", "delete", "unknown"]


class Scaled(Struct, frozen=True):
    """A role whose replicas change while the job runs."""

    role: str
    before: int
    after: int
    elastic: bool


class Fate(Struct, frozen=True, dict=True):
    """kind: what happens to the job object. name: that of the object before, of a new one after. before, after: the two
    sides. live: what the cluster says of the object before; None if it has none, or nobody knows. not_read: why nobody
    knows; empty if the cluster was read. again: the job object is recorded as deployed or in the state, and is created.
    shown_age: how long the job runs ("16 h"); empty if it does not run, or that is not known. environment: as its file
    is now, which knows the kinds of accelerators by their resources. cut_off: the preview ended before it said what
    will be recorded as deployed, so that no cause may be visible although there is one."""

    job: JobReview
    kind: JobFate
    name: str
    next_name: str
    before: wanted.Side | None
    after: wanted.Side | None
    causes: Causes
    scaled: tuple[Scaled, ...] = ()
    live: LiveJob | None = None
    not_read: str = ""
    again: bool = False
    shown_age: str = ""
    environment: Environment | None = None
    cut_off: bool = False

    @property
    def is_running(self) -> bool:
        """True if the cluster says that the job runs."""
        return (
            self.live is not None and (self.live.phase in RUNNING or bool(self.live.started)) and not self.is_finished
        )

    @property
    def is_finished(self) -> bool:
        """True if the cluster says that the job has ended."""
        return self.live is not None and self.live.phase in FINISHED

    @property
    def reasons(self) -> tuple[Change, ...]:
        """The causes of what happens to the job object: of a replacement those that can make a new revision."""
        found = self.causes.visible
        if self.kind != "replace":
            return found
        replacing = {id(change) for change in self.causes.replacing}  # to compare them takes long
        return tuple(change for change in found if id(change) in replacing)

    @functools.cached_property
    def volumes_of_claims(self) -> Mapping[str, Sequence[str]]:
        """The volumes of the experiment, before and after, that each claim is of."""
        found: dict[str, list[str]] = defaultdict(list)
        models = [side.model for side in (self.before, self.after) if side is not None and side.model is not None]
        for model in models:
            for key in model.storage:
                found[claim_name(model, key)].append(key)
        return found

    @property
    def reason(self) -> str:
        """The causes as the end of a sentence, which also says that none is visible."""
        unseen = (
            "for a reason that is not known, since the preview ended first" if self.cut_off else "for no visible reason"
        )
        return self.because if self.because else unseen

    @property
    def versions(self) -> str:
        """Which version of trainform has deployed the job, and which one renders it now; empty if they are one, or
        nobody knows."""
        return next(
            (
                f"trainform {change.before} deployed it, and {change.after} renders it now"
                for change in self.causes.under(VERSION)
            ),
            "",
        )

    @property
    def because(self) -> str:
        """The causes as the end of a sentence, with what they were worked out from; empty if none is visible."""
        said = because(self.reasons)
        if said and self.causes.basis == "inputs":
            return f"{said} (worked out from what was wanted, not from what is recorded as deployed)"
        return said


@functools.lru_cache(MOST_JOBS)
def fate(context: Context, job: JobReview) -> Fate:
    """What happens to the job. Five parts of the report ask for it."""
    old, new = wanted.before(job), wanted.after(job)
    step = job.job
    before_name = job.name if step is None else steps.name(step, step.old)
    after_name = job.name if step is None else steps.name(step, step.new)
    happens: JobFate = "none" if step is None else steps.fate(step)
    scaled = _scaled(old, new) if happens == "update" else ()
    live = _live(context.live, before_name)
    unread = _not_read(context.live, live, step, before_name)
    if happens == "replace" and before_name == after_name and live is None and not unread:
        happens = (
            "create"  # there is nothing to replace: the former `up` ended half way, or somebody has deleted the job
        )
    return Fate(
        job=job,
        kind="scale" if scaled else happens,
        name=before_name,
        next_name=after_name,
        before=old,
        after=new,
        causes=causes(job, context.locate),
        scaled=scaled,
        live=None if unread else live,
        not_read=unread,
        again=happens == "create" and (_in_state(step) or (old is not None and old.job == after_name)),
        shown_age="" if live is None or context.live is None else age(live.started, context.live.read_at),
        environment=context.environment,
        cut_off=_is_cut_off(context, job),
    )


def _is_cut_off(context: Context, job: JobReview) -> bool:
    """True if the preview failed or is not whole, and lacks the record that a component makes. Jobs of other programs
    have none."""
    ended = bool(context.preview.failed) or context.preview.incomplete
    return ended and job.component is not None and job.after is None


def _in_state(step: Step | None) -> bool:
    return step is not None and step.old is not None


def _not_read(live: LiveFacts | None, found: LiveJob | None, step: Step | None, name: str) -> str:
    """Why nobody knows whether the job runs; empty if it is known. Its phase follows from its pods, unless it has
    ended."""
    if live is None:
        return "the cluster was not read"
    if step is not None and f"{step.kind}/{name}" in live.not_read:
        return live.not_read[f"{step.kind}/{name}"]
    if live.jobs is None:
        return live.not_read.get("cluster", "the cluster did not say it")
    pods = [key for key in live.not_read if key.startswith(PODS)]
    if found is None or found.phase in FINISHED or not pods:
        return ""
    return f"its pods were not read ({live.not_read[pods[0]]})"


def _live(live: LiveFacts | None, name: str) -> LiveJob | None:
    jobs = () if live is None or live.jobs is None else live.jobs
    return next((job for job in jobs if job.name == name), None)


def _scaled(old: wanted.Side | None, new: wanted.Side | None) -> tuple[Scaled, ...]:
    if old is None or new is None or old.model is None or new.model is None:
        return ()
    both = [(name, old.model.roles[name], role) for name, role in new.model.roles.items() if name in old.model.roles]
    return tuple(
        Scaled(name, was.replicas, role.replicas, new.model.elastic and role.ranked)
        for name, was, role in both
        if was.replicas != role.replicas
    )


def accelerators(happens: Fate, *, after: bool) -> Mapping[str, int]:
    """The accelerators of all pods by kind, as the objects of that side have them; empty if the job has none, or nobody
    knows."""
    side = happens.after if after else happens.before
    asked = demands_of(happens.job, happens.environment, after=after)
    return accelerators_of(asked, {} if side is None else side.resolved.get("roles"))


def age(since: str, now: str) -> str:
    """How long something has lasted: `16 h`; empty if one of the times is none."""
    try:
        lasted = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    except (TypeError, ValueError):
        return ""
    minutes = max(0, int(lasted.total_seconds()) // 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} d"
