"""Processes that have no accelerator of their own are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import plan

SCRIPT = {"script": "/app/train.py"}
COMMAND = {"command": ["python", "/app/train.py"]}
STARTING: dict[str, dict[str, Any]] = {
    "torchrun": SCRIPT, "accelerate": SCRIPT, "deepspeed": SCRIPT, "mpi": COMMAND,
}  # fmt: skip


def notes(launcher: dict[str, Any], **parts: Any) -> list[str]:
    made = plan(launcher=launcher, **{"shared_memory": "1Gi", **parts})
    return [note for note in made.notes if "process" in note]


@pytest.mark.parametrize("kind", STARTING)
@given(count=st.integers(0, 8), processes=st.none() | st.integers(1, 16), first=st.integers(0, 8))
def test_more_processes_than_accelerators(kind: str, count: int, processes: int | None, first: int) -> None:
    launcher = {kind: {**STARTING[kind], **({} if processes is None else {"processes_per_node": processes})}}
    roles = {"master": {"accelerators": {"a800": first}}, "worker": {"replicas": 2, "accelerators": {"a800": count}}}
    if kind == "accelerate" and (0 in (first, count) or (processes is None and first != count)):
        return  # refused
    given_numbers = {"master": first, "worker": count}
    told = {note.split(":")[0].removeprefix("role ") for note in notes(launcher, roles=roles)}
    short = {name for name, number in given_numbers.items() if (processes or max(1, number)) > number}
    assert told == (short if first or count else set())


def test_what_is_told() -> None:
    roles = {"master": {}, "worker": {"replicas": 2, "accelerators": {"a800": 4}}}
    launcher = {"mpi": {**COMMAND, "processes_per_node": 8}}
    assert notes(launcher, roles=roles) == [
        "role master: 8 processes run on each pod without an accelerator, and those of the role worker have one; write `roles.master.accelerators`, or "
        "`ranked: false` with `launcher.mpi.role: master` to keep it out of the training",
        "role worker: the 8 processes on each pod share 4 a800; write `launcher.mpi.processes_per_node: 4` for one each",
    ]


def test_the_users_own_number() -> None:
    roles = {"worker": {"replicas": 2, "accelerators": {"a800": 4}}}
    shared = "role worker: the 8 processes on each pod share 4 a800; write `NPROC_PER_NODE: 4` for one each"
    other = "env.NPROC_PER_NODE: it takes the place of the plan's {}, so the launcher and its processes see your value; remove it for the plan's"
    assert notes({"torchrun": SCRIPT}, roles=roles, env={"NPROC_PER_NODE": "8"}) == [other.format(4), shared]
    eight = {"torchrun": {**SCRIPT, "processes_per_node": 8}}
    assert notes(eight, roles=roles, env={"NPROC_PER_NODE": "4"}) == [other.format(8)]
    assert notes({"torchrun": SCRIPT}, roles=roles, env={"NPROC_PER_NODE": "auto"}) == [other.format(4)]


@pytest.mark.parametrize(
    ("launcher", "roles"),
    [
        ({"torchrun": {**SCRIPT, "processes_per_node": 8}}, {"worker": {"replicas": 2}}),
        ({"command": ["python"]}, {"server": {}, "worker": {"accelerators": {"a800": 8}}}),
        ({"tensorflow": COMMAND}, {"ps": {}, "worker": {"accelerators": {"a800": 8}}}),
        ({"mpi": COMMAND}, {"master": {"accelerators": {"a800": 8}}, "watch": {"ranked": False, "command": ["watch"]}}),
    ],
)
def test_nothing_to_say(launcher: dict[str, Any], roles: dict[str, Any]) -> None:
    assert notes(launcher, roles=roles) == []


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"I_MPI_FABRICS": "shm:ofi"}, "launcher.mpi: I_MPI_FABRICS is of MPICH or Intel MPI"),
        ({"HYDRA_DEBUG": "1", "MPICH_ASYNC_PROGRESS": "1"}, "launcher.mpi: HYDRA_DEBUG, MPICH_ASYNC_PROGRESS are of MPICH or Intel MPI"),
        ({"I_MPI_FABRICS": "shm:ofi", "I_MPI_HYDRA_HOST_FILE": "/app/hosts"}, None),
        ({"OMPI_MCA_btl": "tcp,self", "PRTE_MCA_plm": "ssh"}, None),
    ],
)  # fmt: skip
def test_variables_of_another_mpi(variables: dict[str, str], told: str | None) -> None:
    roles = {"master": {"accelerators": {"a800": 8}}, "worker": {"accelerators": {"a800": 8}}}
    made = plan(launcher={"mpi": COMMAND}, roles=roles, env=variables, shared_memory="1Gi")
    found = [note for note in made.notes if "Open MPI" in note]
    assert len(found) == (told is not None)
    assert all(told is not None and told in note for note in found)
