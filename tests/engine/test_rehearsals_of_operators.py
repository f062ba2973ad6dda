"""The launch contract from end to end on the operators that write variables, files or names of their own into the pods."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.rehearsing import rehearser
from tests.engine.test_rehearsals import CASES
from tests.rehearsal.conftest import docker_daemon, image

__all__ = ["docker_daemon", "image"]

# Of the cases of Volcano's pods, on the pod network unless the case says otherwise.
ON: tuple[tuple[str, str], ...] = (
    ("kubeflow", "torchrun"),
    ("kubeflow", "elastic"),
    ("kubeflow", "mpi"),
    ("trainer", "torchrun"),
    ("trainer", "mpi-apart"),
    ("kubedl", "torchrun"),
    ("kubedl", "tensorflow"),
    ("jobset", "deepspeed"),
)


def adapted(backend: str, experiment: dict[str, Any]) -> dict[str, Any]:
    """The case on another operator; what that one has no word for is left out."""
    network = {key: value for key, value in experiment.get("network", {}).items() if key != "ports"}
    return {**experiment, "backend": backend, "network": network}


@pytest.mark.parametrize(("backend", "name"), ON)
def test_the_world_forms(backend: str, name: str, addons_project: Project, image: str, addons_live: Live) -> None:
    case = CASES[name]
    rehearse = rehearser(addons_project, image, addons_live)
    output = rehearse(f"{backend}-{name}", adapted(backend, case.experiment), "--probe").succeeded()
    assert case.formed in output
    assert len(re.findall(r"probe: rank \d+ of", output)) == case.processes
    by_exec = backend == "kubeflow" and name.startswith("mpi")
    assert ("/opt/kube/kubectl exec" in output) == by_exec, "training-operator's own way in the place of SSH"
