"""What the plan decides in an operator's objects and pods. Limits, totals, ranks, addresses and the gang follow from it. So a merge patch that
changes it is an error, and so is a label that the operator would overwrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from trainform import defaults
from trainform.backends.paths import Place, items, places, reached, written
from trainform.errors import Problem
from trainform.plan.model import Plan, RolePlan

# Services select pods by these labels, and rules find the role of a pod by them.
_POD_LABELS = (
    *defaults.MANAGED_BY,
    defaults.NAME_LABEL,
    defaults.ROLE_LABEL,
    defaults.REVISION_LABEL,
    defaults.REPLICA_LABEL,
)


def labels_of(template: str) -> tuple[str, ...]:
    """Paths of trainform's own labels in the pod template at this path."""
    return tuple(f"{template}.metadata.labels.{label}" for label in _POD_LABELS)


def changes(decided: Iterable[str], rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and reason of every value at these paths that a merge patch changes. An item that it removes or adds is reported once, as a whole."""
    found: dict[Place, str] = {}
    for path in decided:
        before, after = (
            {where: holder[key] for holder, key, where in places(body, path)} for body in (rendered, patched)
        )
        kept, known = (reached(body, path) for body in (patched, rendered))
        for where in before | after:
            gone, new = ([part for part in items(path, where) if part not in there] for there in (kept, known))
            if gone:
                found[gone[0]] = "the patch removes a part that the plan needs"
            elif new:
                found[new[0]] = "the patch adds a part that the plan does not have"
            elif before.get(where) != after.get(where):
                found[where] = (
                    f"the patch makes the value {after.get(where, 'empty')}, and the plan needs {before.get(where, 'none')}"
                )
    yield from ((written(where), reason) for where, reason in found.items())


def overwritten(plan: Plan, operator: str, own: Iterable[str]) -> Iterator[Problem]:
    """Problems with labels and annotations of pods that the operator would overwrite. `own`: keys, and prefixes that end in `/`."""
    keys = {*own}
    prefixes = tuple(key for key in keys if key.endswith("/"))
    for role in plan.roles:
        for path, values in _user_metadata(role):
            for key, value in values.items():
                if key in keys or key.startswith(prefixes):
                    reason = f"the key is set by {operator} itself"
                    yield Problem(f"{path}.{key}", value, reason, "choose another key")


def _user_metadata(role: RolePlan) -> Iterator[tuple[str, dict[str, str]]]:
    """Path and content of all labels and annotations that the user sets for the role's pods. `patches` reports a malformed patch."""
    patch = role.overrides.get("metadata")
    for field, values in (("labels", role.labels), ("annotations", role.annotations)):
        yield f"roles.{role.name}.{field}", values
        patched = patch.get(field) if isinstance(patch, dict) else None
        if isinstance(patched, dict):
            yield f"roles.{role.name}.pod_overrides.metadata.{field}", patched


def follows(plan: Plan, field: Literal["labels", "annotations"], key: str, fix: str) -> Iterator[Problem]:
    """A problem if the user sets a label or annotation of the job that trainform sets from a field. `fix`: that field."""
    value = getattr(plan, field).get(key)
    if value is not None:
        yield Problem(f"{field}.{key}", value, "the key is set by trainform itself", f"remove it, and set {fix}")
