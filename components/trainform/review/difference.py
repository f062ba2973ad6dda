"""How a difference between two trees may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.console.escaping import CHANGED_MASK, MASK
from trainform.console.secrets import masked
from trainform.manifests.differences import Difference, Keys, differences

__all__ = ["Difference", "Keys", "differences", "is_reference", "shown"]
REFERENCES = ("secret", "secretKeyRef")  # where a variable's value comes from


def shown(difference: Difference) -> tuple[Any, Any]:
    """Return both sides as they may be shown: where one of them is secret, both are masked."""
    keys = difference.keys
    name = str(keys[-2] if len(keys) > 1 and keys[-1] == "value" else keys[-1]) if keys else ""
    before, after = (masked(value, name) for value in (difference.before, difference.after))
    if is_reference(difference.before) and isinstance(
        after, str
    ):  # what comes from a Secret on one side is one on the other
        after = MASK
    if is_reference(difference.after) and isinstance(before, str):
        before = MASK
    if MASK not in (before, after) or CHANGED_MASK in (before, after) or is_reference(before) or is_reference(after):
        return before, after
    return (None if before is None else MASK), (None if after is None else CHANGED_MASK)


def is_reference(value: object) -> bool:
    """True for a variable's value that comes from a Secret, as an experiment or as a pod says it."""
    return isinstance(value, Mapping) and not value.keys().isdisjoint(REFERENCES)
