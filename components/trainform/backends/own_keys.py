"""Labels and annotations that an operator or trainform sets, and that the user's fields must not set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from trainform.errors import Problem
from trainform.plan.model import Plan


def overwritten(plan: Plan, setter: str, own: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each label and annotation of pods that the operator or trainform would overwrite.

    own: keys, and prefixes that end in `/`. `backends.patch_rules` judges those of merge patches.
    """
    keys = {*own}
    for role in plan.roles:
        for field, values in (("labels", role.labels), ("annotations", role.annotations)):
            for key, value in values.items():
                if is_one_of(key, keys):
                    reason = f"the key is set by {setter} itself"
                    yield Problem(f"roles.{role.name}.{field}.{key}", value, reason, "choose another key")


def is_one_of(key: str, keys: Collection[str]) -> bool:
    """Return whether the label or annotation is one of these keys, or begins with one that ends in `/`."""
    return key in keys or any(key.startswith(prefix) for prefix in keys if prefix.endswith("/"))


def follows(plan: Plan, field: Literal["labels", "annotations"], key: str, fix: str) -> Iterator[Problem]:
    """Yield a problem if the user sets a label or annotation of the job that trainform sets from a field.

    fix: that field.
    """
    value = getattr(plan, field).get(key)
    if value is not None:
        yield Problem(f"{field}.{key}", value, "the key is set by trainform itself", f"remove it, and set {fix}")
