"""From the two models to the plan with its revision, all objects of the job and every problem: the steps of `objects`,
and all rules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.gangs import CRDS as QUEUE_CRDS
from trainform.backends.judged import judged_job, with_waivers
from trainform.backends.notes import job_notes
from trainform.backends.outcome import patched_endings
from trainform.backends.refusals import placeholder_problems, size_problems, support_problems
from trainform.backends.support import overwritten
from trainform.backends.table import BACKENDS
from trainform.errors import Problem
from trainform.job.objects import (
    changes,
    choose_placeholder,
    draft_plan,
    patched_manifests,
    put_revision,
    record_manifests,
    rendered_manifests,
    revision,
)
from trainform.manifests.manifest import Manifest
from trainform.plan import Plan
from trainform.plan.build import DRAFT_REVISION
from trainform.plan.inputs import job_record
from trainform.plan.record import record_notes
from trainform.rules.experiment import plan_problems
from trainform.rules.limits.origins import problem_of
from trainform.rules.limits.rule import Judged
from trainform.rules.limits.table import BY_CODE, SECRETS, judge
from trainform.rules.limits.waivers import verdict
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

    Plan and objects are rendered once, with a placeholder for the revision. The rules check the draft, whose revision
    is `DRAFT_REVISION`, and its objects are hashed.
    """
    experiment = merged(experiment, environment.name) if experiment.environments else experiment
    placeholder = choose_placeholder(experiment, environment)
    planned = draft_plan(experiment, environment, run, placeholder)
    backend = BACKENDS[planned.backend]
    rendered = _with_valid_patches(planned, backend, environment)
    draft, (valid, drafts, patch_problems) = put_revision((planned, rendered), placeholder, DRAFT_REVISION)
    sizes = (*size_problems(valid, drafts),)
    # an object that is too large is not judged: each rule would read all of it
    judged = Judged({}, (), experiment.user_set()) if sizes else judged_job(experiment, valid, drafts, backend)
    judgements = judge(judged, environment)
    found = [(problem_of(judgement, valid, experiment), judgement.severity) for judgement in judgements]
    limits = verdict(found, experiment.waivers, environment, today)
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
        return RenderedJob(experiment, environment, valid, tuple(drafts), problems, found=limits.found, of_base=of_base)
    plan, manifests, _ = put_revision(rendered, placeholder, revision(drafts, draft, backend.IN_PLACE))
    plan = structs.replace(plan, record=job_record(experiment, environment, plan))
    manifests += record_manifests(plan)
    if experiment.waivers:
        manifests = with_waivers(manifests, experiment.waivers, judgements, plan.experiment)
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
