"""The launch contract from end to end on the operators that write variables, files or names of their own into the
pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.conftest import own_project
from tests.engine.live import Live
from tests.engine.rehearsing import Rehearsals, brought_up
from tests.engine.test_rehearsals import APART, CASES, TRAIN, Case, formed

pytestmark = pytest.mark.proof("every operator's pods as containers")

NODE: dict[str, Any] = {"replicas": 1, "accelerators": {"a800": 1}}
ONE_ROLE = {"worker": {**NODE, "replicas": 2}}
TORCHRUN = Case({"launcher": {"torchrun": TRAIN}, "roles": {"master": NODE, "worker": NODE}}, formed(2, 2), 2)
MPIRUN = Case({"launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}}, "roles": APART}, formed(4, 2), 4)
# Of two nodes each: worlds of full size form on the pods of Volcano.
ON: dict[str, tuple[str, Case]] = {
    "pytorchjob": ("kubeflow", TORCHRUN),
    "elastic-pytorchjob": (
        "kubeflow",
        Case(
            {
                "launcher": {"torchrun": {**TRAIN, "elastic": {"min_nodes": 1, "max_nodes": 2}}},
                "roles": ONE_ROLE,
            },
            formed(2, 2),
            2,
        ),
    ),
    "mpijob": (
        "kubeflow",
        Case(
            {"launcher": {"mpi": {"command": ["/app/train"]}}, "roles": {"worker": {**NODE, "replicas": 2}}},
            formed(2, 2),
            2,
        ),
    ),
    "mpijob-4-apart": ("kubeflow", CASES["mpi-4-apart"]),
    "trainjob": ("trainer", TORCHRUN),
    "mpi-trainjob": ("trainer", MPIRUN),
    "kubedl-pytorchjob": ("kubedl", TORCHRUN),
    "kubedl-tfjob": (
        "kubedl",
        Case(
            {
                "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
                "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 1}},
                "network": {"host": True},
            },
            "cluster formed: 1 ps, 1 worker",
            0,
        ),
    ),
    "mpi-jobset": ("jobset", MPIRUN),
    "job": ("kubernetes", Case({"launcher": {"torchrun": TRAIN}, "roles": ONE_ROLE}, formed(2, 2), 2)),
    "mpi-job": (
        "kubernetes",
        Case({"launcher": {"mpi": {"command": ["/app/train"]}}, "roles": ONE_ROLE}, formed(2, 2), 2),
    ),
    "deepspeed-job": ("kubernetes", Case({"launcher": {"deepspeed": TRAIN}, "roles": ONE_ROLE}, formed(2, 2), 2)),
}


@pytest.fixture(scope="module")
def rehearse(
    tmp_path_factory: pytest.TempPathFactory, addons_environ: dict[str, str], addons_live: Live, image: str
) -> Iterator[Rehearsals]:
    """Of the pods that each operator made of its cases: they are up side by side."""
    cases = {name: ON[name] for name in IN_PROOF}
    experiments = {name: {**case.experiment, "backend": backend} for name, (backend, case) in cases.items()}
    for project in own_project(tmp_path_factory.mktemp("rehearsals"), addons_environ, addons_live):
        yield brought_up(project, experiments, addons_live, image)


IN_PROOF = ("mpijob", "kubedl-tfjob")


@pytest.mark.parametrize("name", IN_PROOF)
def test_the_world_forms(name: str, rehearse: Rehearsals) -> None:
    _, case = ON[name]
    output = rehearse(name, "--probe").succeeded()
    assert case.formed in output
    assert len(re.findall(r"probe: rank \d+ of", output)) == case.processes
    assert "/opt/kube/kubectl exec" not in output, "training-operator's way instead of SSH"
