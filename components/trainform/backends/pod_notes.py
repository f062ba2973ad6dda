"""What may surprise in the pods of a job as they are rendered, with the user's patches."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.backends.backend import Backend
from trainform.backends.capabilities import capability_notes
from trainform.backends.not_judged import not_seen
from trainform.backends.placeholders import placeholder_notes
from trainform.backends.shell_variables import shell_variable_notes
from trainform.plan.model import Plan
from trainform.rules.limits.judged import Judged
from trainform.spec.experiment import Experiment


def pod_notes(experiment: Experiment, plan: Plan, backend: Backend, judged: Judged) -> Iterator[str]:
    """A sentence for each."""
    yield from placeholder_notes(experiment, plan, backend, judged.templates)
    yield from shell_variable_notes(experiment, plan, backend, judged.templates)
    yield from capability_notes(judged.templates)
    yield from not_seen(judged.templates, judged.objects.values())
