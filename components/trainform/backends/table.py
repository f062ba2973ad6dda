"""The backends by name, from the table `defaults.BACKENDS`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from trainform import defaults
from trainform.backends.backend import Backend


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
