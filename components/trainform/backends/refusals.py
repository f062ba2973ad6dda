"""Problems with fields that a backend does not support, and fixes that name the backends that do."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.backends.support import Fields, Support, non_default
from trainform.backends.table import BACKENDS
from trainform.errors import Problem
from trainform.spec.experiment import Experiment

# What an operator may lack beyond single fields (`Backend.LACKS`).
EXTRA_ROLES = "roles besides its replica types"
EVALUATORS = "evaluators"
JOB_RESTARTS = "restarts of the whole job"


def support_problems(experiment: Experiment, fields: Fields) -> Iterator[Problem]:
    """A problem for each set field that the backend does not support."""
    for field, support in fields.items():
        if support.is_refusal:
            for path, value in non_default(experiment, field):
                shown = value if isinstance(value, str | int) else None
                yield Problem(path, shown, support.how, refusal_fix(field, support))


def refusal_fix(field: str, support: Support) -> str:
    """What to write instead of a field that the backend does not support, and which backends support it."""
    return ", or ".join(part for part in (support.fix, support.elsewhere and another_backend(field)) if part)


def another_backend(need: str) -> str:
    """The end of a fix: `use the backend volcano or jobset`. need: the path of a field or one of the constants above; at least one backend
    supports it. This imports every backend, so call it only for a message that is shown."""
    *first, last = able(need)
    return f"use the backend {', '.join(first)} or {last}" if first else f"use the backend {last}"


def able(need: str) -> list[str]:
    """The names of the backends that support the need."""
    return [
        name
        for name, backend in BACKENDS.items()
        if need not in backend.LACKS and not (need in backend.FIELDS and backend.FIELDS[need].is_refusal)
    ]
