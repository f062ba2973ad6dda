"""The notes of a plan that come from its operator and from the rendered objects, with the user's patches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.beside_main import beside_main_notes
from trainform.backends.capabilities import capability_notes
from trainform.backends.claims import claim_notes
from trainform.backends.endings import endless_notes
from trainform.backends.order import order_notes
from trainform.backends.placeholders import placeholder_notes
from trainform.backends.refusals import support_notes
from trainform.backends.role_notes import role_notes
from trainform.backends.shell_variables import shell_variable_notes
from trainform.backends.ssh_users import ssh_user_notes
from trainform.backends.workloads import value_at
from trainform.manifests.manifest import Manifest, job_body
from trainform.plan.model import Ending, Plan
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def job_notes(
    experiment: Experiment,
    environment: Environment,
    plan: Plan,
    backend: Backend,
    manifests: Sequence[Manifest],
    judged: Judged,
    ends_with: Collection[Ending],
) -> Iterator[str]:
    """A sentence for each thing that may surprise: what happens, to which pods, and what to write if that is not wanted."""
    yield from role_notes(experiment, plan, backend)
    yield from support_notes(experiment, backend.FIELDS)
    yield from backend.notes(plan, manifests)
    yield from _suspended(plan, backend, manifests)
    yield from _deleted(judged)
    yield from order_notes(backend.batches(plan, manifests)) if plan.overrides else ()
    yield from endless_notes(plan, ends_with)
    yield from placeholder_notes(experiment, plan, backend, judged.templates)
    yield from shell_variable_notes(experiment, plan, backend, judged.templates)
    yield from capability_notes(judged.templates)
    yield from ssh_user_notes(plan, judged.templates)
    yield from claim_notes(plan, judged, environment)
    yield from beside_main_notes(judged.templates, backend.conventions(plan).container)


def _deleted(judged: Judged) -> Iterator[str]:
    """A note if the job object is deleted some time after its end."""
    for name in judged.names:
        if name.what == "ttl" and name.key == "job" and name.value is not None:
            yield (
                f"ttl: the job is deleted {name.value} s after its end, and the next `pulumi up` after a `pulumi refresh` makes it again and trains again; "
                "leave it out to keep the job"
            )


def _suspended(plan: Plan, backend: Backend, manifests: Sequence[Manifest]) -> Iterator[str]:
    """A note if a merge patch suspends the job; Kueue lets such jobs go on."""
    for path in backend.SUSPENDED:
        if value_at(job_body(manifests), path) is True and plan.admission != defaults.KUEUE:
            where = f"manifest_overrides.job.{path}"
            yield f"{where}: the job is suspended, and no pod starts as long as this is true; remove it to let the job start"
