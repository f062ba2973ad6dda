"""From the two models to the plan and the objects of the job with the user's merge patches, without the rules.

What is deployed is rendered again from its record, and no rule checks it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

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
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.merge_patch import merge_patch


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
