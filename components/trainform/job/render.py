"""From the two models to the plan with its revision, all objects of the job and every problem: the steps of `objects`,
and all rules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.endings import patched_endings
from trainform.backends.judged import judged_job
from trainform.backends.notes import job_notes
from trainform.backends.own_keys import overwritten
from trainform.backends.placeholders import placeholder_problems
from trainform.backends.queues import CRDS as QUEUE_CRDS
from trainform.backends.refusals import size_problems, support_problems
from trainform.backends.table import BACKENDS
from trainform.backends.waived import with_waivers
from trainform.errors import Problem
from trainform.job.objects import draft_plan, job_manifests, patched_manifests, rendered_manifests
from trainform.job.revision import changes, revision
from trainform.manifests.manifest import Manifest
from trainform.plan import Plan
from trainform.plan.inputs import job_record
from trainform.plan.record import record_notes
from trainform.rules.experiment import plan_problems
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.origins import problem_of
from trainform.rules.limits.table import BY_CODE, SECRETS, judge
from trainform.rules.limits.waivers import Verdict, verdict
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.overlay import merged


class RenderedJob(Struct, frozen=True):
    """An experiment in an environment: the plan, the objects, and every problem.

    If there are problems, plan and objects are drafts: their names contain `DRAFT_REVISION`, and invalid merge patches
    are left out.
    """

    experiment: Experiment
    environment: Environment
    plan: Plan
    manifests: tuple[Manifest, ...]
    """The objects in the order in which they are created, with the user's merge patches applied."""
    problems: tuple[Problem, ...]
    """The problems of the experiment in the environment; `check` finds the environment's own."""
    warnings: tuple[str, ...] = ()
    """What the environment's rules find without being a problem: warnings, and findings that are waived. The plan's
    notes have them too."""
    found: tuple[tuple[Problem, str], ...] = ()  # each finding of the rules with its severity, waived or not
    of_base: tuple[Problem, ...] = ()
    """Further problems, of the experiment before its overlay, at their places there. They are the same in every
    environment."""

    @property
    def crds(self) -> tuple[str, ...]:
        """The custom resource definitions that the cluster must have: the operator's, and Volcano's queue if Volcano
        admits the job."""
        needed = BACKENDS[self.plan.backend].crds(self.plan)
        return (*needed, *(QUEUE_CRDS if self.plan.admission == defaults.VOLCANO else ()))


def render_job(
    experiment: Experiment, environment: Environment, run: int = 1, *, today: datetime.date | None = None
) -> RenderedJob:
    """The job of the experiment in the environment, without a cluster. `run` counts repetitions of an unchanged
    experiment, from 1. `today` is compared with the last day of waivers; None: no waiver holds.

    The revision is a hash of the objects, and their names contain it. So the objects are rendered with a draft revision
    first, which the rules check too, and then again with the final revision.
    """
    experiment = merged(experiment, environment.name)
    draft = draft_plan(experiment, environment, run)
    backend = BACKENDS[draft.backend]
    valid, manifests, patch_problems = _with_valid_patches(draft, backend, environment)
    sizes = (*size_problems(valid, manifests),)
    # what is too large to be an object is too large to be judged: each rule would read all of it
    judged = Judged({}, (), experiment.user_set()) if sizes else judged_job(experiment, valid, manifests, backend)
    limits = _judged_by_limits(experiment, environment, valid, judged, today)
    problems = (
        *plan_problems(experiment, environment, draft),
        *_admission_problems(draft),
        *support_problems(experiment, backend.FIELDS),
        *overwritten(draft, "the operator", backend.POD_KEYS),
        *backend.problems(draft),
        *patch_problems,
        *sizes,
        *placeholder_problems(experiment, valid, backend),
        *limits.problems,
    )
    of_base = _secrets_of_base(experiment, environment, valid)
    if problems or of_base:
        return RenderedJob(
            experiment, environment, valid, tuple(manifests), problems, found=limits.found, of_base=of_base
        )
    plan = draft_plan(experiment, environment, run, revision(manifests, draft, backend.IN_PLACE))
    plan = structs.replace(plan, record=job_record(experiment, environment, plan))
    manifests = job_manifests(plan)
    if experiment.waivers:
        manifests = with_waivers(manifests, experiment.waivers, judge(judged, environment), plan.experiment)
    ends_with = () if patched_endings(plan) else backend.endings(plan, manifests)
    in_place = changes(experiment, plan, manifests, backend.IN_PLACE)
    notes = (
        *job_notes(experiment, environment, plan, backend, manifests, judged, ends_with),
        *record_notes(plan.record, plan.experiment),
        *limits.notes,
    )
    plan = structs.replace(
        plan, ends_with=ends_with, notes=notes, changes={path: change.name.lower() for path, change in in_place.items()}
    )
    return RenderedJob(experiment, environment, plan, tuple(manifests), (), limits.notes, limits.found)


def _with_valid_patches(
    plan: Plan, backend: Backend, environment: Environment
) -> tuple[Plan, list[Manifest], list[Problem]]:
    """Return the plan without parts of patches that limits cannot judge, its objects, and the problems of patches."""
    if not plan.overrides:
        return plan, patched_manifests(plan, rendered_manifests(plan)), []
    from trainform.backends.patch_rules import check_objects, check_roles

    plan, of_roles = check_roles(plan, backend, environment)
    rendered = rendered_manifests(plan)
    plan, of_objects = check_objects(plan, backend, rendered, environment)
    return plan, patched_manifests(plan, rendered), [*of_roles, *of_objects]


def _judged_by_limits(
    experiment: Experiment, environment: Environment, plan: Plan, judged: Judged, today: datetime.date | None
) -> Verdict:
    """What the environment's rules find in the job, with the experiment's waivers."""
    found = [(problem_of(judgement, plan, experiment), judgement.severity) for judgement in judge(judged, environment)]
    return verdict(found, experiment.waivers, environment, today)


def _secrets_of_base(experiment: Experiment, environment: Environment, plan: Plan) -> tuple[Problem, ...]:
    """Secrets in the experiment before its overlay, and in those of all environments: the record keeps them too."""
    if experiment.base is None:
        return ()
    found = judge(Judged({}, (), experiment.base.user_set()), environment, [BY_CODE[SECRETS]])
    return tuple(problem_of(judgement, plan, experiment) for judgement in found)


def _admission_problems(plan: Plan) -> Iterator[Problem]:
    if plan.admission not in BACKENDS[plan.backend].ADMISSIONS:
        able = ", ".join(name for name, other in BACKENDS.items() if plan.admission in other.ADMISSIONS)
        admission = plan.admission.capitalize()
        reason = f"{admission} admits the jobs of this environment, and the backend does not support {admission}"
        yield Problem("backend", plan.backend, reason, f"use one of {able}")
