"""The backends by name, from the table `defaults.BACKENDS`, and the pods of the kinds of objects that they render."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.backends.backend import Backend, Finder, Pods


class _Backends(Mapping[str, Backend]):
    """The backends by name. Each is imported when it is first used, since most commands need one of them."""

    def __init__(self) -> None:
        self._made: dict[str, Backend] = {}

    def __getitem__(self, name: str) -> Backend:
        row = defaults.BACKENDS[name]
        if row not in self._made:
            module, _, kind = row.partition(":")
            made = getattr(importlib.import_module(module), kind)()
            if not isinstance(made, Backend):
                raise TypeError(f"{row} is not a subclass of Backend")
            self._made[row] = made
        return self._made[row]

    def __iter__(self) -> Iterator[str]:
        return iter(defaults.BACKENDS)

    def __len__(self) -> int:
        return len(defaults.BACKENDS)


BACKENDS: Mapping[str, Backend] = _Backends()

JOB_TYPES = (
    "batch.volcano.sh/v1alpha1:Job",
    "jobset.x-k8s.io/v1alpha2:JobSet",
    "kubeflow.org/v1:MPIJob",
    "kubeflow.org/v1:PyTorchJob",
    "kubeflow.org/v1:TFJob",
    "trainer.kubeflow.org/v1alpha1:TrainJob",
    "training.kubedl.io/v1alpha1:MPIJob",
    "training.kubedl.io/v1alpha1:PyTorchJob",
    "training.kubedl.io/v1alpha1:TFJob",
)
"""Types of the job object on every operator; here so that a program need not import them all. Never remove one: a
deployed stack may have it."""


def pods_of(body: dict[str, Any]) -> list[Pods]:
    """The pods that the object has templates of; empty for every kind that no backend renders."""
    return [pods for find in described_kinds().get(group_and_kind(body), ()) for pods in find(body)]


@functools.cache
def described_kinds() -> Mapping[str, tuple[Finder, ...]]:
    """Return how the pods of each kind are found, by `GROUP/KIND`."""
    return {kind: finders for backend in BACKENDS.values() for kind, finders in backend.PODS.items()}


def group_and_kind(body: Mapping[str, Any]) -> str:
    """`GROUP/KIND` of the object; the group of Kubernetes' first kinds is empty."""
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    return f"{group}/{body.get('kind', '')}"
