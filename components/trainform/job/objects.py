"""From the two models to the plan and the objects of the job with the user's merge patches, without the rules.

What is deployed is rendered again from its record, and no rule checks it.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import pickle
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from msgspec import structs

from trainform import defaults
from trainform.backends.backend import places
from trainform.backends.gangs import queue_manifest
from trainform.backends.table import BACKENDS
from trainform.manifests.manifest import Manifest, override_key, with_own_annotations
from trainform.manifests.objects import (
    claim,
    deployed,
    experiment_labels,
    launch_files,
    pod_selector,
    rendezvous_service,
    replica_service,
)
from trainform.plan import Plan, build_plan
from trainform.plan.build import DRAFT_REVISION, chosen_backend
from trainform.plan.images import map_registries, mapped_images
from trainform.spec.base_model import OnChange, on_change, set_fields
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch


def override_paths(plan: Plan, manifest: Manifest) -> list[str]:
    """Paths of the user's fields whose merge patches are in the object. Patches of roles are in the job object."""
    key = override_key(manifest)
    roles = [f"roles.{role.name}.pod_overrides" for role in plan.roles if role.overrides] if key == "job" else []
    return [*roles, *([f"manifest_overrides.{key}"] if key in plan.manifest_overrides else [])]


def patched(plan: Plan, manifest: Manifest) -> Manifest:
    """The object with the user's merge patch applied."""
    patch = plan.manifest_overrides.get(override_key(manifest))
    if patch is None:
        return manifest
    return structs.replace(manifest, body=merge_patch(manifest.body, patch))


def draft_plan(experiment: Experiment, environment: Environment, run: int = 1, revision: str = DRAFT_REVISION) -> Plan:
    """The plan with this revision, also if the experiment has problems. The names of the pods are those of its
    backend."""
    backend = BACKENDS[chosen_backend(experiment, environment)]
    naming, groups = backend.naming(experiment), backend.groups(experiment)
    pulled = map_registries(experiment, environment.registries)
    plan = build_plan(pulled, environment, run, revision, naming=naming, groups=groups)
    return structs.replace(plan, images=mapped_images(experiment, environment.registries))


def job_manifests(plan: Plan) -> list[Manifest]:
    """Every object in the order in which they are created, with the user's merge patches. The last is the record of
    what is deployed, if there is one."""
    return [*patched_manifests(plan, rendered_manifests(plan)), *record_manifests(plan)]


def record_manifests(plan: Plan) -> list[Manifest]:
    """The record of what is deployed; empty if the plan has none."""
    return [] if plan.record is None else [with_own_annotations(deployed(plan.record, plan))]


def patched_manifests(plan: Plan, rendered: Iterable[Manifest]) -> list[Manifest]:
    """The objects with the user's merge patches."""
    return [with_own_annotations(patched(plan, manifest), override_paths(plan, manifest)) for manifest in rendered]


def rendered_manifests(plan: Plan) -> list[Manifest]:
    """The objects in the order in which they are created, as they are without patches."""
    backend, labels = BACKENDS[plan.backend], experiment_labels(plan)
    service, pods = plan.rendezvous.service, pod_selector(plan.experiment)
    return [
        *(claim(request, plan.namespace, labels) for request in plan.claims),
        *([rendezvous_service(service, plan.namespace, pods, labels)] if plan.naming.own_service else []),
        *(replica_service(service, plan, backend.INDEX_LABEL) for service in plan.services),
        *_ssh_secret(plan, labels),
        *([] if plan.queue.request is None else [queue_manifest(plan.queue, labels)]),
        launch_files(plan, backend.files(plan)),
        *backend.prerequisites(plan),
        backend.job(plan),
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
    """The hash of everything that cannot change while the job runs.

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
    """The spec of a job object without the fields that change in place; their paths are such as
    `spec.tasks.*.replicas`."""
    body = {"spec": copy.deepcopy(job["spec"])}
    for path in paths:
        for holder, key, _ in [*places(body, path)]:
            del holder[key]
    return body["spec"]


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
    """The change for one job. scaling: its roles whose replicas no process knows. in_place: the paths in the job object
    that its backend changes in place."""
    keys = {path.rpartition(".")[2] for path in in_place}
    if change not in (OnChange.IN_PLACE_BY_BACKEND, OnChange.IN_PLACE_WITHOUT_RANKS):
        return change
    *above, name = path.split(".")
    stays = _KEYS[name] in keys
    if change is OnChange.IN_PLACE_WITHOUT_RANKS:
        stays = stays and above[-1] in scaling
    return OnChange.IN_PLACE if stays else OnChange.NEW_REVISION
