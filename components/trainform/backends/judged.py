"""What the environment's rules judge of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainform.backends.backend import Backend
from trainform.backends.job_fields import named
from trainform.backends.table import BACKENDS
from trainform.manifests.manifest import Manifest
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.rules.limits.judged import Judged, Named
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def names_in(objects: Mapping[str, dict[str, Any]], templates: Sequence[Template]) -> tuple[Named, ...]:
    """What objects of anybody's program, and their pods, name in the way of any operator."""
    return named(objects, templates, [backend.JOB_FIELDS for backend in BACKENDS.values()])


def judged_object(key: str, body: dict[str, Any], templates: Sequence[Template], environment: Environment) -> Judged:
    """One object of anybody's program with its pods, and what it says beside them. Queues are those of the environment's admission."""
    names = names_in({key: body}, templates)
    queues = (name.value for name in names if name.what == "queue" and name.admission == environment.admission)
    queue = next((str(value) for value in queues if value is not None), None)
    return Judged({key: body}, tuple(templates), queue=queue, names=names)


def judged_job(experiment: Experiment, plan: Plan, manifests: Sequence[Manifest], backend: Backend) -> Judged:
    """The objects of a job with their pods, and what the objects say beside their pods."""
    objects = {manifest.key: manifest.body for manifest in manifests}
    templates = tuple(backend.templates(plan, manifests))
    return Judged(
        objects,
        templates,
        experiment.user_set(),
        plan.queue.name,
        plan.queue.request,
        named(objects, templates, [backend.JOB_FIELDS]),
        frozenset(manifest.key for manifest in manifests if manifest.keep),
        frozenset(role.name for role in plan.ranked),
        plan.admission in backend.ADMISSIONS,
    )
