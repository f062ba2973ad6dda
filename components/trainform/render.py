"""From the two models to the plan with its revision, all objects of the job and every problem. All callers take these steps from here."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator

from trainform import defaults
from trainform.backends.judged import judged_job
from trainform.backends.notes import job_notes
from trainform.backends.own_mounts import own_mount_problems
from trainform.backends.patches import check_patches, override_paths, patched, pod_problems
from trainform.backends.placeholders import placeholder_problems
from trainform.backends.queues import CRDS as QUEUE_CRDS
from trainform.backends.queues import queue_manifest
from trainform.backends.refusals import support_problems
from trainform.backends.sizes import size_problems
from trainform.backends.table import BACKENDS
from trainform.backends.waived import with_waivers
from trainform.errors import Problem, without_told
from trainform.manifests.manifest import Manifest, with_own_annotations
from trainform.manifests.objects import (
    claim,
    deployed,
    experiment_labels,
    launch_files,
    pod_selector,
    rendezvous_service,
    replica_service,
)
from trainform.manifests.ssh import ssh_names, ssh_secret
from trainform.plan import Plan, build_plan
from trainform.plan.build import DRAFT_REVISION, chosen_backend
from trainform.plan.inputs import job_record
from trainform.plan.record import record_notes
from trainform.plan.registries import mapped_images, with_registries
from trainform.revision import changes, revision
from trainform.rules.experiment import plan_problems
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.origins import problem_of
from trainform.rules.limits.table import judge
from trainform.rules.limits.waivers import Verdict, verdict
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.overlay import merged


def draft_plan(experiment: Experiment, environment: Environment, run: int = 1, revision: str = DRAFT_REVISION) -> Plan:
    """The plan with this revision, also if the experiment has problems. The names of the pods are those of its backend."""
    backend = BACKENDS[chosen_backend(experiment, environment)]
    naming, groups = backend.naming(experiment), backend.groups(experiment)
    pulled = with_registries(experiment, environment.registries)
    plan = build_plan(pulled, environment, run, revision, naming=naming, groups=groups)
    return dataclasses.replace(plan, images=mapped_images(experiment, environment.registries))


@dataclasses.dataclass(frozen=True)
class RenderedJob:
    """An experiment in an environment: the plan, the objects, and every problem.

    If there are problems, plan and objects are drafts: their names contain `DRAFT_REVISION`, and invalid merge patches are left out.
    """

    experiment: Experiment
    environment: Environment
    plan: Plan
    manifests: tuple[Manifest, ...]
    """The objects in the order in which they are created, with the user's merge patches applied."""
    problems: tuple[Problem, ...]
    """The problems of the experiment in the environment; `check` finds the environment's own."""
    warnings: tuple[str, ...] = ()
    """What the environment's rules find without being a problem: warnings, and findings that are waived. The plan's notes have them too."""
    found: tuple[tuple[Problem, str], ...] = ()  # each finding of the rules with its severity, waived or not

    @property
    def crds(self) -> tuple[str, ...]:
        """The custom resource definitions that the cluster must have: the operator's, and Volcano's queue if Volcano admits the job."""
        needed = BACKENDS[self.plan.backend].crds(self.plan)
        return (*needed, *(QUEUE_CRDS if self.plan.admission == defaults.VOLCANO else ()))


def render_job(
    experiment: Experiment, environment: Environment, run: int = 1, *, today: datetime.date | None = None
) -> RenderedJob:
    """The job of the experiment in the environment, without a cluster. `run` counts repetitions of an unchanged experiment, from 1. `today` is
    compared with the last day of waivers; None: no waiver holds.

    The revision is a hash of the objects, and their names contain it. So the objects are rendered with a draft revision first, which the rules
    check too, and then again with the final revision.
    """
    experiment = merged(experiment, environment.name)
    draft = draft_plan(experiment, environment, run)
    backend = BACKENDS[draft.backend]
    rendered = _rendered(draft)
    patch_problems, decided, valid = check_patches(draft, backend, rendered, _rendered)
    manifests = _patched(valid, _rendered(valid) if patch_problems else rendered)
    sizes = (*size_problems(valid, manifests, experiment),)
    # what is too large to be an object is too large to be judged: each rule would read all of it
    judged = Judged({}, (), experiment.user_set()) if sizes else judged_job(experiment, valid, manifests, backend)
    limits = _judged_by_limits(experiment, environment, valid, judged, today)
    found = (
        *plan_problems(experiment, environment, draft),
        *_admission_problems(draft),
        *support_problems(experiment, backend.FIELDS),
        *backend.problems(draft),
        *patch_problems,
        *(backend.order_problems(valid, manifests) if valid.overrides else ()),
        *sizes,
        *own_mount_problems(experiment, valid, backend, judged.templates),
        *placeholder_problems(experiment, valid, backend, judged.templates),
    )
    # what the operator makes of a job is known if it is one that the operator takes
    of_pods = [] if found or decided else pod_problems(valid, backend, job_manifests, environment)
    problems = (
        *found,
        *without_told([*decided, *of_pods], limits.problems),
        *limits.problems,
    )
    if problems:
        return RenderedJob(experiment, environment, valid, tuple(manifests), problems, found=limits.found)
    plan = draft_plan(experiment, environment, run, revision(manifests, draft, backend.IN_PLACE))
    plan = dataclasses.replace(plan, record=job_record(experiment, environment, plan))
    manifests = job_manifests(plan)
    if experiment.waivers:
        manifests = with_waivers(manifests, experiment.waivers, judge(judged, environment), plan.experiment)
    ends_with = backend.endings(plan, manifests)
    in_place = changes(experiment, plan, manifests, backend.IN_PLACE)
    notes = (
        *plan.notes,
        *job_notes(experiment, plan, backend, manifests, judged, ends_with),
        *record_notes(plan.record, plan.experiment),
        *limits.notes,
    )
    plan = dataclasses.replace(
        plan, ends_with=ends_with, notes=notes, changes={path: change.name.lower() for path, change in in_place.items()}
    )
    return RenderedJob(experiment, environment, plan, tuple(manifests), (), limits.notes, limits.found)


def _judged_by_limits(
    experiment: Experiment, environment: Environment, plan: Plan, judged: Judged, today: datetime.date | None
) -> Verdict:
    """What the environment's rules find in the job, with the experiment's waivers."""
    found = [(problem_of(judgement, plan, experiment), judgement.severity) for judgement in judge(judged, environment)]
    return verdict(found, experiment.waivers, environment, today)


def _admission_problems(plan: Plan) -> Iterator[Problem]:
    if plan.admission not in BACKENDS[plan.backend].ADMISSIONS:
        able = ", ".join(name for name, other in BACKENDS.items() if plan.admission in other.ADMISSIONS)
        admission = plan.admission.capitalize()
        reason = f"{admission} admits the jobs of this environment, and the backend does not support {admission}"
        yield Problem("backend", plan.backend, reason, f"use one of {able}")


def job_manifests(plan: Plan) -> list[Manifest]:
    """Every object in the order in which they are created, with the user's merge patches. The last is the record of what is deployed, if there is one."""
    record = [] if plan.record is None else [with_own_annotations(deployed(plan.record, plan))]
    return [*_patched(plan, _rendered(plan)), *record]


def _patched(plan: Plan, rendered: Iterable[Manifest]) -> list[Manifest]:
    return [with_own_annotations(patched(plan, manifest), override_paths(plan, manifest)) for manifest in rendered]


def _rendered(plan: Plan) -> list[Manifest]:
    backend, labels = BACKENDS[plan.backend], experiment_labels(plan)
    service, pods = plan.rendezvous.service, pod_selector(plan.experiment)
    return [
        *(claim(request, plan.namespace, labels) for request in plan.claims),
        *([rendezvous_service(service, plan.namespace, pods, labels)] if plan.naming.own_service else []),
        *(replica_service(service, plan, backend.INDEX_LABEL) for service in plan.services),
        *([] if plan.ssh is None or not plan.ssh.made else [ssh_secret(plan.ssh.secret, ssh_names(plan), labels)]),
        *([] if plan.queue.request is None else [queue_manifest(plan.queue, labels)]),
        launch_files(plan, backend.files(plan)),
        *backend.prerequisites(plan),
        backend.job(plan),
    ]
