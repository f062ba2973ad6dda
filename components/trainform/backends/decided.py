"""What the plan has decided of an operator's objects and pods. Limits, totals, ranks, addresses and the gang were worked out from it, so a
merge patch that changes it, or a label that the operator writes itself, is told before it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from trainform.backends.paths import Place, items, places, reached, written
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.plan.model import Plan, RolePlan

# By these Services select pods, and rules find the role.
_POD_LABELS = (
    *defaults.MANAGED_BY,
    defaults.NAME_LABEL,
    defaults.ROLE_LABEL,
    defaults.REVISION_LABEL,
    defaults.REPLICA_LABEL,
)


def labels_of(template: str) -> tuple[str, ...]:
    """Paths of our own labels in the pod template at this path."""
    return tuple(f"{template}.metadata.labels.{label}" for label in _POD_LABELS)


def changes(decided: Iterable[str], rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and reason of everything at these paths (`places`) that a merge patch makes another, once where it takes or adds a whole item."""
    found: dict[Place, str] = {}
    for path in decided:
        before, after = (
            {where: holder[key] for holder, key, where in places(body, path)} for body in (rendered, patched)
        )
        kept, known = (reached(body, path) for body in (patched, rendered))
        for where in before | after:
            gone, new = ([part for part in items(path, where) if part not in there] for there in (kept, known))
            if gone:
                found[gone[0]] = "would be gone, and the plan has it"
            elif new:
                found[new[0]] = "would be new, and the plan has none"
            elif before.get(where) != after.get(where):
                found[where] = (
                    f"would be {after.get(where, 'gone')}, and the plan says {before.get(where, 'nothing of it')}"
                )
    yield from ((written(where), reason) for where, reason in found.items())


def overwritten(plan: Plan, operator: str, own: Iterable[str]) -> Iterator[Problem]:
    """Labels and annotations of pods that the operator writes over what stands there. `own`: keys, and prefixes that end in `/`."""
    keys = {*own}
    prefixes = tuple(key for key in keys if key.endswith("/"))
    for role in plan.roles:
        for path, said in _said_of_pods(role):
            for key in said:
                if key in keys or key.startswith(prefixes):
                    yield Problem(f"{path}.{key}", said[key], f"is set by {operator} itself", "choose another key")


def _said_of_pods(role: RolePlan) -> Iterator[tuple[str, dict[str, str]]]:
    """Field and content of all labels and annotations that the user gives the role's pods. A patch that has wrecked them is told elsewhere."""
    patch = role.overrides.get("metadata")
    for field, said in (("labels", role.labels), ("annotations", role.annotations)):
        yield f"roles.{role.name}.{field}", said
        patched = patch.get(field) if isinstance(patch, dict) else None
        if isinstance(patched, dict):
            yield f"roles.{role.name}.pod_overrides.metadata.{field}", patched


def follows(plan: Plan, field: Literal["labels", "annotations"], key: str, fix: str) -> Iterator[Problem]:
    """A label or annotation of the job that follows from a field of the experiment. `fix`: which one."""
    said = getattr(plan, field).get(key)
    if said is not None:
        yield Problem(f"{field}.{key}", said, "is set by trainform itself", f"remove it; write {fix}")
