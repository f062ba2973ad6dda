"""The experiment sdxl-lora and the environment dev with any number of pods, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from bench.commands import REPOSITORY
from trainform.spec.libyaml import Dumper

EXPERIMENT = "sdxl-lora"
ENVIRONMENT = "dev"
PODS = 4
ACCELERATOR = "a800"
ACCELERATORS_PER_POD = 8


class Shape(Struct, frozen=True):
    """An experiment and its environment as files."""

    pods: int
    experiment: Path
    environment: Path


def experiment_of(pods: int) -> dict[str, Any]:
    """Return sdxl-lora with so many pods: one master, the others workers."""
    data: dict[str, Any] = _read("experiments", EXPERIMENT)
    data["roles"]["worker"]["replicas"] = pods - data["roles"]["master"]["replicas"]
    return data


def experiment_of_roles(roles: int) -> dict[str, Any]:
    """Return sdxl-lora with so many roles of one pod each: the master, and workers that differ in name only."""
    data: dict[str, Any] = _read("experiments", EXPERIMENT)
    worker = {**data["roles"].pop("worker"), "replicas": 1}
    data["roles"] |= {f"worker-{number:02}": worker for number in range(1, roles)}
    return data


def environment_of(pods: int) -> dict[str, Any]:
    """Return dev with enough nodes and high enough limits for so many pods."""
    data: dict[str, Any] = _read("environments", ENVIRONMENT)
    accelerators = pods * ACCELERATORS_PER_POD
    data["accelerators"][ACCELERATOR]["nodes"] = pods
    data["limits"]["max_accelerators"] = accelerators
    data["queues"]["default"]["capability"][ACCELERATOR] = accelerators
    return data


def write_shape(folder: Path, pods: int) -> Shape:
    """Write both files."""
    shape = Shape(pods, folder / f"experiment-{pods}.yaml", folder / f"environment-{pods}.yaml")
    write_yaml(shape.experiment, experiment_of(pods))
    write_yaml(shape.environment, environment_of(pods))
    return shape


def write_yaml(path: Path, data: dict[str, Any]) -> None:
    """Write data as a user would: in order and without aliases."""
    path.write_text(yaml.dump(data, Dumper=_Dumper, sort_keys=False))


class _Dumper(Dumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _read(folder: str, name: str) -> Any:
    return yaml.safe_load((REPOSITORY / "stacks" / folder / f"{name}.yaml").read_text())
