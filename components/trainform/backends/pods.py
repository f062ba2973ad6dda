"""The pods of an object of a kind that a backend renders."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from trainform.backends.paths import Finder, Pods
from trainform.backends.table import BACKENDS


def pods_of(body: dict[str, Any]) -> list[Pods]:
    """The pods that the object has templates of; empty for every kind that no backend renders."""
    return [pods for find in described_kinds().get(group_and_kind(body), ()) for pods in find(body)]


@functools.cache
def described_kinds() -> Mapping[str, tuple[Finder, ...]]:
    """How the pods of each kind are found, by `GROUP/KIND`."""
    return {kind: finders for backend in BACKENDS.values() for kind, finders in backend.PODS.items()}


def group_and_kind(body: Mapping[str, Any]) -> str:
    """`GROUP/KIND` of the object; the group of Kubernetes' first kinds is empty."""
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    return f"{group}/{body.get('kind', '')}"
