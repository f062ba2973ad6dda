"""The notes of a plan that come from its operator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.endings import endless_notes
from trainform.backends.order import order_notes
from trainform.backends.support import support_notes
from trainform.backends.workloads import value_at
from trainform.manifests.manifest import Manifest, job_body
from trainform.plan.model import Ending, Plan
from trainform.spec.experiment import Experiment

MIN_AVAILABLE = "roles.*.min_available"


def operator_notes(
    experiment: Experiment, plan: Plan, backend: Backend, manifests: Sequence[Manifest], ends_with: Collection[Ending]
) -> Iterator[str]:
    """A sentence for each thing that the operator does in a way that may surprise."""
    yield from support_notes(experiment, backend.FIELDS)
    yield from backend.notes(plan, manifests)
    yield from _suspended(plan, backend, manifests)
    yield from _extras_in_the_gang(experiment, plan, backend)
    yield from order_notes(backend.batches(plan, manifests)) if plan.overrides else ()
    yield from endless_notes(plan, ends_with)


def _extras_in_the_gang(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[str]:
    """Notes on extras for whose pods the training waits, since the user has not said otherwise. They are in the gang as with every operator by itself,
    and with Kueue and Trainer they always are: a job means the same everywhere."""
    always = plan.admission == defaults.KUEUE or MIN_AVAILABLE in backend.LACKS
    for role in plan.roles:
        if role.ranked or role.name == plan.launches or role.replicas == 0:
            continue
        if experiment.roles[role.name].min_available is None:
            pods = "its pod" if role.replicas == 1 else f"its {role.replicas} pods"
            fix = "" if always else f"; `roles.{role.name}.min_available: 0` lets the training start without"
            yield f"role {role.name} is in the gang, so the training starts only when there is room for {pods} too{fix}"


def _suspended(plan: Plan, backend: Backend, manifests: Sequence[Manifest]) -> Iterator[str]:
    """A note if a merge patch suspends the job; Kueue lets such jobs go on."""
    for path in backend.SUSPENDED:
        if value_at(job_body(manifests), path) is True and plan.admission != defaults.KUEUE:
            yield f"the job is suspended: no pod starts as long as a patch says `{path}: true`"
