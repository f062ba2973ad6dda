"""Each job of a preview with its change and its live state: effects and findings follow from it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from trainform.cluster.facts import LiveFacts, LiveJob
from trainform.cluster.live_drift import age
from trainform.cluster.phases import ENDED, Phase
from trainform.plan.model import launch_files_name
from trainform.plan.record import Record
from trainform.plan.roles import claim_name
from trainform.review import steps
from trainform.review.causes import VERSION, Causes, because, causes
from trainform.review.context import Context, JobReview
from trainform.review.job_objects import accelerators_of, demands_of, is_suspended
from trainform.review.model import Change
from trainform.review.preview import Step
from trainform.spec.environment import Environment

RUNNING = (Phase.RUNNING, Phase.RESTARTING, Phase.ENDING)
PODS = "pods of "  # before the namespace, in what could not be read
MOST_JOBS = 256  # whose fates are kept

ChangeKind = Literal["none", "create", "update", "scale", "suspend", "resume", "replace", "delete", "unknown"]
_SWITCHES: Mapping[tuple[bool, bool], ChangeKind] = {(False, True): "suspend", (True, False): "resume"}
"""The change by whether the job object is suspended before and after."""
LiveState = Literal["running", "finished", "pending", "absent", "unknown"]


class Scaled(Struct, frozen=True):
    """A role whose replicas change while the job runs."""

    role: str
    before: int
    after: int
    elastic: bool

    @property
    def text(self) -> str:
        """Return the role with both numbers: `the elastic role worker 3 → 5`."""
        return f"the {'elastic ' if self.elastic else ''}role {self.role} {self.before} → {self.after}"


class JobChange(Struct, frozen=True):
    """The change of a job."""

    job: JobReview
    kind: ChangeKind
    name: str
    """Name of the existing job object; of a new one the name that it gets."""
    next_name: str
    causes: Causes
    scaled: tuple[Scaled, ...] = ()
    live: LiveJob | None = None
    not_read: str = ""
    """Why it is unknown whether the job runs; empty if it is known."""
    again: bool = False
    """True if a job object that is in the state, or recorded as deployed, is created."""
    shown_age: str = ""
    """How long the job has been running: `16 h`; empty if it does not run, or if that is unknown."""
    environment: Environment | None = None
    """The environment as its file is now, with the kinds of accelerators by their resources."""
    new_scripts: bool = False
    """True if its launch files change, and not only by its new name."""
    cut_off: bool = False
    """True if the preview ended before the new record, so that causes may be missing."""

    @property
    def state(self) -> LiveState:
        """Return the live state of the existing job object."""
        if self.live is None:
            return "unknown" if self.not_read else "absent"
        if self.live.phase in ENDED:
            return "finished"
        return "running" if self.live.phase in RUNNING or self.live.started else "pending"

    @property
    def suspended(self) -> bool:
        """Return True if the job has no pods after the change, because its object is suspended."""
        return self.job.job is not None and is_suspended(self.job.job.new)

    @property
    def reasons(self) -> tuple[Change, ...]:
        """Return the causes of what happens to the job object: of a replacement those that can make a new revision."""
        found = self.causes.replacing if self.kind == "replace" else self.causes.changes
        return tuple(change for change in found if change.place.path != VERSION)

    def volumes_of(self, claim: str) -> set[str]:
        """Return the volumes of the experiment, before and after, that have this claim."""
        models = [side.model for side in (self.job.before, self.job.after) if side is not None]
        return {key for model in filter(None, models) for key in model.storage if claim_name(model, key) == claim}

    @property
    def versions(self) -> str:
        """Return the versions of trainform that deployed the job and render it now; empty if equal or unknown."""
        found = self.causes.under(VERSION)
        return f"trainform {found[0].before} deployed it, and {found[0].after} renders it now" if found else ""

    @property
    def reason(self) -> str:
        """Return the causes as the end of a sentence; empty if none is visible, and nothing is replaced."""
        text = because(self.reasons)
        if text or self.kind != "replace":
            return text
        if self.new_scripts:
            return "because this trainform has other launch scripts"
        return "for an unknown reason, since the preview ended early" if self.cut_off else "for an unknown reason"


@functools.lru_cache(MOST_JOBS)
def job_change(context: Context, job: JobReview) -> JobChange:
    """Return what happens to the job. Most parts of the report ask for it."""
    old, new = job.before, job.after
    step = job.job
    before_name = job.name if step is None else steps.name(step, step.old)
    after_name = job.name if step is None else steps.name(step, step.new)
    happens: ChangeKind = "none" if step is None else steps.action(step)
    scaled = _scaled(old, new) if happens == "update" else ()
    if step is not None and happens == "update":
        happens = _SWITCHES.get((is_suspended(step.old), is_suspended(step.new)), "scale" if scaled else happens)
    jobs = () if context.live is None or context.live.jobs is None else context.live.jobs
    live = next((each for each in jobs if each.name == before_name), None)
    unread = _not_read(context.live, live, step, before_name)
    if happens == "replace" and before_name == after_name and live is None and not unread:
        happens = "create"  # the former `up` ended half way, or the job was deleted by hand
    in_state = step is not None and step.old is not None
    ended = bool(context.preview.failed) or context.preview.incomplete
    return JobChange(
        job=job,
        kind=happens,
        name=before_name,
        next_name=after_name,
        causes=causes(job, context.locate),
        scaled=scaled,
        live=None if unread else live,
        not_read=unread,
        again=happens == "create" and (in_state or (old is not None and old.job == after_name)),
        shown_age="" if live is None or context.live is None else age(live.started, context.live.read_at),
        environment=context.environment,
        new_scripts=_new_scripts(job, before_name, after_name),
        cut_off=ended and job.component is not None and job.after is None,
    )


def _new_scripts(job: JobReview, before: str, after: str) -> bool:
    was, will = (_launch_files(job, name) for name in (before, after))
    return bool(was and will) and was != will.replace(after, before)


def _launch_files(job: JobReview, name: str) -> str:
    """Return the launch files of the job object with this name, as one text; empty if no step has them."""
    states = [(step, state) for step in job.steps for state in (step.old, step.new) if state is not None]
    names = launch_files_name(name)
    return next((str(state.inputs.get("data")) for step, state in states if steps.name(step, state) == names), "")


def _not_read(live: LiveFacts | None, found: LiveJob | None, step: Step | None, name: str) -> str:
    """Why it is unknown whether the job runs. Its phase follows from its pods, unless it has ended."""
    if live is None:
        return "the cluster was not read"
    kind = "" if step is None else steps.kind_before(step)
    if f"{kind}/{name}" in live.not_read:
        return live.not_read[f"{kind}/{name}"]
    if live.jobs is None:
        return live.not_read.get("cluster", "the cluster did not report it")
    pods = [key for key in live.not_read if key.startswith(PODS)]
    if found is None or found.phase in ENDED or not pods:
        return ""
    return f"its pods were not read ({live.not_read[pods[0]]})"


def _scaled(old: Record | None, new: Record | None) -> tuple[Scaled, ...]:
    if old is None or new is None or old.model is None or new.model is None:
        return ()
    both = [(name, old.model.roles[name], role) for name, role in new.model.roles.items() if name in old.model.roles]
    return tuple(
        Scaled(name, was.replicas, role.replicas, new.model.elastic and role.ranked)
        for name, was, role in both
        if was.replicas != role.replicas
    )


def accelerators(happens: JobChange, *, after: bool) -> Mapping[str, int]:
    """Return the accelerators of all pods by kind; empty if the job has none, or if that is unknown."""
    record = happens.job.after if after else happens.job.before
    asked = demands_of(happens.job, happens.environment, after=after)
    return accelerators_of(asked, {} if record is None else record.resolved.get("roles"))
