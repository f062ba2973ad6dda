"""Another mpirun than Open MPI's would start all processes in the pod that launches (measured with MPICH 5.0.2): the
script ends before it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import SAY, start
from tests.support.samples import plan

MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["python", "/app/train.py"]}}}
APART: dict[str, Any] = {"launcher": {"mpi": {"command": ["python", "/app/train.py"], "role": "launcher"}}}
NODES: dict[str, Any] = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
# the first lines that each prints upon --version
MPICH = "HYDRA build details:\n    Version:                                 5.0.2"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)"
OPEN_MPI = "mpirun (Open MPI) 5.0.11"


def with_mpirun(tools: Path, version: str) -> Path:
    mpirun = tools / "mpirun"
    mpirun.write_text(SAY.replace("print", f"print({version!r}) if sys.argv[1:] == ['--version'] else print", 1))
    return tools


@pytest.mark.parametrize("version", [MPICH, INTEL])
@pytest.mark.parametrize(
    ("parts", "role"),
    [
        ({**MPI, "roles": NODES}, "master"),
        ({**APART, "roles": {"launcher": {"ranked": False}, "worker": {}}}, "launcher"),
    ],
)
def test_it_would_start_all_processes_in_one_pod(version: str, parts: dict[str, Any], role: str, tools: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"would start all [13] processes in this pod; use an image with Open MPI 4 or 5"
    ):
        start(plan(**parts), role, 0, with_mpirun(tools, version))


@pytest.mark.parametrize("name", ["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"])
def test_who_names_its_hosts_has_said_what_is_meant(name: str, tools: Path) -> None:
    made = plan(**MPI, roles=NODES, env={name: "/app/hosts"})
    assert start(made, "master", 0, with_mpirun(tools, INTEL)).called[:3] == ["mpirun", "-np", "3"]


def test_a_single_pod_is_all_there_is(tools: Path) -> None:
    made = plan(**MPI, roles={"worker": {"accelerators": {"a800": 8}}})
    assert start(made, "worker", 0, with_mpirun(tools, MPICH)).called[:3] == ["mpirun", "-np", "8"]


@pytest.mark.parametrize("version", [OPEN_MPI, ""])
def test_open_mpi_starts(version: str, tools: Path) -> None:
    assert start(plan(**MPI, roles=NODES), "master", 0, with_mpirun(tools, version)).called[:3] == [
        "mpirun",
        "-np",
        "3",
    ]
