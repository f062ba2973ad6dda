"""Render the plan and all objects of a job from the two models, and report every problem.

The revision is a hash of the objects, and their names contain it: they are rendered once, with a placeholder for it.
Any change of them that the backend does not make in place makes a new revision; no other module decides this. What is
deployed is rendered again from its record, and no rule checks it.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import pickle
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.admission import CRDS as QUEUE_CRDS
from trainform.backends.admission import admission_problems, queue_manifest
from trainform.backends.backend import BACKENDS, Backend, places, without_paths
from trainform.backends.judged import judged_job, with_waivers
from trainform.backends.notes import job_notes, patched_endings
from trainform.backends.refusals import program_problems, size_problems, support_problems
from trainform.backends.support import overwritten
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key, with_own_annotations
from trainform.manifests.objects import (
    claim,
    deployed,
    experiment_labels,
    launch_files,
    pod_selector,
    rendezvous_service,
    replica_service,
    user_files,
)
from trainform.plan.build import DRAFT_REVISION, build_plan, chosen_backend
from trainform.plan.images import map_registries, mapped_images
from trainform.plan.inputs import job_record
from trainform.plan.model import Plan
from trainform.plan.record import record_notes
from trainform.plan.split_launcher import in_file, name_origin, split_launcher, split_parts, split_role
from trainform.rules.experiment import plan_problems
from trainform.rules.limits.origins import problem_of
from trainform.rules.limits.rule import Judged
from trainform.rules.limits.table import BY_CODE, SECRETS, judge, verdict
from trainform.spec.base_model import OnChange, on_change, set_fields
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch
from trainform.spec.overlay import merged


def override_paths(plan: Plan, manifest: Manifest) -> list[str]:
    """Return the paths of the user's merge patches that are in the object. Those of roles are in the job object."""
    key = override_key(manifest)
    roles = [f"roles.{role.written}.pod_overrides" for role in plan.roles if role.overrides] if key == "job" else []
    return [*dict.fromkeys(roles), *([f"manifest_overrides.{key}"] if key in plan.manifest_overrides else [])]


def draft_plan(experiment: Experiment, environment: Environment, run: int = 1, revision: str = DRAFT_REVISION) -> Plan:
    """Return the plan with this revision, also if the experiment has problems. The names of the pods are those of its
    backend."""
    backend = BACKENDS[chosen_backend(experiment, environment)]
    split = split_role(experiment) if backend.SPLITS_LAUNCHER else None
    experiment = experiment if split is None else split_launcher(experiment, split)
    operator = backend.operator(experiment, environment)
    naming, groups = backend.naming(experiment, environment), backend.groups(experiment)
    pulled = map_registries(experiment, environment.registries)
    plan = build_plan(pulled, environment, run, revision, operator=operator, naming=naming, groups=groups)
    plan = plan if split is None else name_origin(plan, split)
    return structs.replace(plan, images=mapped_images(experiment, environment.registries))


def job_manifests(plan: Plan) -> list[Manifest]:
    """Return every object in the order in which they are created, with the user's merge patches. The last is the record
    of what is deployed, if there is one."""
    return [*patched_manifests(plan, rendered_manifests(plan)), *record_manifests(plan)]


def record_manifests(plan: Plan) -> list[Manifest]:
    """Return the record of what is deployed; empty if the plan has none."""
    return [] if plan.record is None else [with_own_annotations(deployed(plan.record, plan))]


def patched_manifests(plan: Plan, rendered: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects with the user's merge patches."""
    manifests = []
    for manifest in rendered:
        patch = plan.manifest_overrides.get(override_key(manifest))
        body = manifest.body if patch is None else merge_patch(manifest.body, patch)
        manifests.append(with_own_annotations(structs.replace(manifest, body=body), override_paths(plan, manifest)))
    return manifests


def rendered_manifests(plan: Plan) -> list[Manifest]:
    """Return the objects in the order in which they are created, as they are without patches."""
    backend, labels = BACKENDS[plan.backend], experiment_labels(plan)
    service, pods, files = plan.rendezvous.service, pod_selector(plan.experiment), backend.files(plan)
    job = backend.job(plan)
    # another controller resumes a job that is created suspended
    started_later = tuple(path for path in backend.SUSPENDED if any(True for _ in places(job.body, path)))
    return [
        *(claim(request, plan.namespace, labels) for request in plan.claims),
        *([rendezvous_service(service, plan.namespace, pods, labels)] if plan.naming.own_service else []),
        *(replica_service(service, plan, backend.INDEX_LABEL) for service in plan.services),
        *_ssh_secret(plan, labels),
        *([] if plan.queue.request is None else [queue_manifest(plan.queue, labels)]),
        *([user_files(plan)] if plan.mounted_files else []),
        *([launch_files(plan, files)] if plan.files or files else []),
        *backend.prerequisites(plan),
        structs.replace(job, controller_owned=started_later) if started_later else job,
    ]


def _ssh_secret(plan: Plan, labels: dict[str, str]) -> list[Manifest]:
    if plan.ssh is None or not plan.ssh.made:
        return []
    from trainform.manifests.ssh_files import ssh_names, ssh_secret  # only a few jobs have SSH

    return [ssh_secret(plan.ssh.secret, ssh_names(plan), labels)]


# The fields that only some backends change in place, each with its key in the job object.
_KEYS = {"ttl": "ttlSecondsAfterFinished", "min_available": "minAvailable", "replicas": "replicas"}
_LETTERS = "zyxwvutsrqponmlkjihg"
"""Letters of placeholders: names allow them, and no hash has them."""
RenderedT = TypeVar("RenderedT")


def choose_placeholder(*models: Any) -> str:
    """Return a word as long as a revision that occurs nowhere in the models."""
    texts = repr(models)
    words = map("".join, itertools.product(_LETTERS, repeat=defaults.REVISION_DIGITS))
    return next(word for word in words if word[1:] not in texts)  # a pickle has the length of a text before it


def put_revision(rendered: RenderedT, placeholder: str, number: str) -> RenderedT:
    """Return a copy of a plan and its objects with the revision `number` in names, keys and values.

    A pickle copies values of every type. It stays valid, since both words have the same length.
    """
    pickled = pickle.dumps(rendered).replace(placeholder.encode(), number.encode())
    copied: RenderedT = pickle.loads(pickled)  # noqa: S301 - pickled in the line above
    return copied


def revision(manifests: Iterable[Manifest], plan: Plan, in_place: Iterable[str]) -> str:
    """Return the hash of everything that cannot change while the job runs.

    manifests: every object of the job. The plan's own revision must be `DRAFT_REVISION`, since names and addresses
    contain it. in_place: the paths in the job object that its backend changes in place.
    """
    revisioned = {manifest.key: manifest.body for manifest in manifests if manifest.revision is not None}
    job = revisioned.pop("job")
    # ranks depend on the number of replicas, also if the backend could change that number while the job runs
    static_world = None if plan.world.bounds is not None else {role.name: role.replicas for role in plan.ranked}
    hashed = [
        immutable_part(job, in_place),
        [body.get("data", body.get("spec")) for body in revisioned.values()],
        plan.run,
        static_world,
    ]
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()
    return digest[: defaults.REVISION_DIGITS]


def immutable_part(job: dict[str, Any], paths: Iterable[str]) -> Any:
    """Return the spec of a job object without the fields that change in place; their paths are such as
    `spec.tasks.*.replicas`."""
    return without_paths({"spec": job["spec"]}, paths)["spec"]


def changes(
    experiment: Experiment, plan: Plan, manifests: Iterable[Manifest], in_place: Iterable[str]
) -> dict[str, OnChange]:
    """Return what a change of each field that the experiment sets does, by the field's path.

    If that depends on the backend, the value is the one for this job. Only for a merge patch it stays open
    (`IN_PLACE_BY_PATCH`).
    """
    job = next(manifest.body for manifest in manifests if manifest.key == "job")
    there = [path for path in in_place if any(True for _ in places(job, path))]
    scaling = {role.name for role in plan.roles if role.scales_in_place}
    return {path: change_in_job(path, on_change(field), scaling, there) for path, field in set_fields(experiment)}


def change_in_job(path: str, change: OnChange, scaling: Collection[str], in_place: Iterable[str]) -> OnChange:
    """Return the change for one job. scaling: its roles whose replicas no process knows. in_place: the paths in the job
    object that its backend changes in place."""
    keys = {path.rpartition(".")[2] for path in in_place}
    if change not in (OnChange.IN_PLACE_BY_BACKEND, OnChange.IN_PLACE_WITHOUT_RANKS):
        return change
    *above, name = path.split(".")
    stays = _KEYS[name] in keys
    if change is OnChange.IN_PLACE_WITHOUT_RANKS:
        stays = stays and above[-1] in scaling
    return OnChange.IN_PLACE if stays else OnChange.NEW_REVISION


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
        """Return the custom resource definitions that the cluster must have: the operator's, and Volcano's queue if
        Volcano admits the job."""
        needed = BACKENDS[self.plan.backend].crds(self.plan)
        return (*needed, *(QUEUE_CRDS if self.plan.admission == defaults.VOLCANO else ()))


def render_job(
    experiment: Experiment, environment: Environment, run: int = 1, *, today: datetime.date | None = None
) -> RenderedJob:
    """Return the job of the experiment in the environment, without a cluster. `run` counts repetitions of an unchanged
    experiment, from 1. `today` is compared with the last day of waivers; None: no waiver holds.

    Plan and objects are rendered once, with a placeholder for the revision. The rules check the draft, whose revision
    is `DRAFT_REVISION`, and its objects are hashed.
    """
    experiment = merged(experiment, environment.name) if experiment.environments else experiment
    placeholder = choose_placeholder(experiment, environment)
    planned = draft_plan(experiment, environment, run, placeholder)
    backend, parts = BACKENDS[planned.backend], split_parts(experiment, planned)
    rendered = _with_valid_patches(planned, backend, environment)
    draft, (valid, drafts, patch_problems) = put_revision((planned, rendered), placeholder, DRAFT_REVISION)
    sizes = (*size_problems(valid, drafts),)
    # an object that is too large is not judged: each rule would read all of it
    judged = Judged({}, (), experiment.user_set()) if sizes else judged_job(experiment, valid, drafts, backend)
    judgements = judge(judged, environment)
    found = [(in_file(problem_of(judgement, valid, parts), valid), judgement.severity) for judgement in judgements]
    limits = verdict(found, experiment.waivers, environment, today)
    found_problems = (
        *plan_problems(experiment, environment, draft),
        *admission_problems(draft),
        *support_problems(experiment, backend.FIELDS),
        *overwritten(draft, "the operator", backend.POD_KEYS),
        *backend.problems(draft),
        *patch_problems,
        *sizes,
        *program_problems(parts, valid, backend),
        *limits.problems,
    )
    problems = (*dict.fromkeys(in_file(problem, draft) for problem in found_problems),)
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
    """Return secrets in the experiment before its overlay, and in all overlays: the record keeps them too."""
    if experiment.base is None:
        return ()
    found = judge(Judged({}, (), experiment.base.user_set()), environment, [BY_CODE[SECRETS]])
    return tuple(problem_of(judgement, plan, experiment) for judgement in found)
