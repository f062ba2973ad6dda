"""The pods of any object: by the tables of the backends, by Kubernetes' own kinds, or by a search."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from trainform.backends.form import searched
from trainform.backends.table import BACKENDS
from trainform.backends.workloads import KINDS, Finder, Pods


def pods_of(body: dict[str, Any]) -> list[Pods]:
    """The pods that the object makes, as far as it has them; empty if it makes none. If they are not where its kind has them, they are searched."""
    finders = described_kinds().get(group_and_kind(body), ())
    found = [pods for find in finders for pods in find(body)]
    return found if found else [*searched(body)]


@functools.cache
def described_kinds() -> Mapping[str, tuple[Finder, ...]]:
    """How the pods of each kind are found, by `GROUP/KIND`."""
    return {**KINDS, **{kind: finders for backend in BACKENDS.values() for kind, finders in backend.PODS.items()}}


def group_and_kind(body: Mapping[str, Any]) -> str:
    """`GROUP/KIND` of the object; the group of Kubernetes' first kinds is empty."""
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    return f"{group}/{body.get('kind', '')}"
