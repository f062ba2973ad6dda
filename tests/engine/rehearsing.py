"""`trainform rehearse`: on real nodes, and `--from-cluster` of experiments that were brought up together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tests.engine.live import Live
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project, Ran

PATIENCE = 660.0
IMAGE = "registry.example.com/ai/training:latest"
HOW = ("-e", "dev", "--image", "trainform-rehearsal")


def rehearse(project: Project, name: str, experiment: dict[str, Any], *words: str) -> Ran:
    """Rehearse an experiment on real nodes."""
    project.experiment(name, {"image": IMAGE, "shared_memory": "64Mi", **experiment})
    return project.trainform("rehearse", name, *HOW, *words, timeout=600)


@dataclasses.dataclass(frozen=True)
class Rehearsals:
    """Experiments that are up, and the image in which their pods are rehearsed."""

    project: Project
    live: Live
    image: str

    def __call__(self, name: str, *words: str) -> Ran:
        """Rehearse the pods that the controller made of one of them, once all run."""
        pods_of(self.live, self.project.plan(name))
        how = ("-e", "dev", "--from-cluster", "--image", self.image, "--timeout", "10m")
        return self.project.trainform("rehearse", name, *how, *words, timeout=PATIENCE)


def brought_up(project: Project, experiments: Mapping[str, dict[str, Any]], live: Live, image: str) -> Rehearsals:
    """All experiments in one stack."""
    for name, data in experiments.items():
        project.experiment(name, {"image": IMAGE, "shared_memory": "64Mi", **data})
    project.up(stack_of(project, "rehearsed", list(experiments)))
    return Rehearsals(project, live, image)
