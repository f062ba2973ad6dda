"""The launch contract from end to end: plan → Pulumi → API server → Volcano → its pods → containers → the real
launcher.

All cases go up on the sandbox, and `trainform rehearse --from-cluster --probe` runs the pods that Volcano's controller
made of each. The probe takes the place of the training script and checks ranks, world size and a collective.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.rehearsing import Rehearsals, brought_up

pytestmark = pytest.mark.proof("every launcher from the pods of the cluster")

WORKERS: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 2}},
    "worker": {"replicas": 3, "accelerators": {"a800": 2}},
}
SLOTS: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 2}},
    "small": {"replicas": 1, "accelerators": {"a800": 1}},
    "large": {"replicas": 1, "accelerators": {"a800": 3}},
}
# What differs from a case of full size in one thing alone is smaller: each process loads torch, which takes seconds.
PAIR: dict[str, Any] = {"worker": {"replicas": 2, "accelerators": {"a800": 1}}}
TWO_SLOTS: dict[str, Any] = {name: role for name, role in SLOTS.items() if name != "large"}
EXTRAS: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 1}},
    "worker": {"replicas": 3, "accelerators": {"a800": 1}},
    "extra": {"replicas": 4, "ranked": False, "command": ["sh", "-c", 'test -z "${RANK-}${WORLD_SIZE-}" && sleep 600']},
}
MPI_WORKERS: dict[str, Any] = {"replicas": 2, "accelerators": {"a800": 2}}
APART: dict[str, Any] = {"launcher": {"replicas": 1, "ranked": False}, "worker": MPI_WORKERS}
USER: dict[str, Any] = {"run_as": {"user": 1000, "home": "/home/trainer"}}
OPEN_MPI_4: dict[str, Any] = {  # the image's own is 5; a wheel does not lie where it was built for
    "env": {"PATH": "/opt/openmpi4/bin:/usr/bin:/bin", "OPAL_PREFIX": "/opt/openmpi4"}
}


@dataclasses.dataclass(frozen=True)
class Case:
    """An experiment, what its world must come to, and how many lines say that a process saw it."""

    experiment: dict[str, Any]
    formed: str
    processes: int


def formed(processes: int, nodes: int) -> str:
    return f"world formed: {processes} processes on {nodes} nodes"


TRAIN = {"script": "/app/train.py", "args": ["--epochs", "1"]}
CASES: dict[str, Case] = {
    "torchrun": Case({"launcher": {"torchrun": TRAIN}, "roles": WORKERS}, formed(8, 4), 8),
    "elastic": Case(
        {
            "launcher": {"torchrun": {**TRAIN, "elastic": {"min_nodes": 2, "max_nodes": 4}}},
            "roles": {"worker": {"replicas": 4, "accelerators": {"a800": 2}}},
        },
        formed(8, 4),
        8,
    ),
    "accelerate": Case(
        {"launcher": {"accelerate": TRAIN}, "roles": WORKERS, "network": {"host": True, "rdma": True}}, formed(8, 4), 8
    ),
    "served": Case(
        {"launcher": {"torchrun": TRAIN}, "roles": PAIR, "network": {"host": True, "addresses": "service"}},
        formed(2, 2),
        2,
    ),
    "deepspeed": Case({"launcher": {"deepspeed": TRAIN}, "roles": SLOTS}, formed(6, 3), 6),
    "deepspeed-user": Case({"launcher": {"deepspeed": TRAIN}, "roles": TWO_SLOTS, **USER}, formed(3, 2), 3),
    "mpi": Case(
        {
            "launcher": {"mpi": {"command": ["/app/train"]}},
            "roles": {"first": {**MPI_WORKERS, "replicas": 1}, "worker": MPI_WORKERS},
        },
        formed(6, 3),
        6,
    ),
    "mpi-apart": Case(
        {"launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}}, "roles": APART}, formed(4, 2), 4
    ),
    "mpi-4-apart": Case(
        {"launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}}, "roles": APART, **OPEN_MPI_4, **USER},
        formed(4, 2),
        4,
    ),
    "tensorflow": Case(
        {
            "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
            "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}},
            "network": {"host": True, "ports": "per-replica"},
        },
        "cluster formed: 2 ps, 3 worker",
        0,
    ),
    "jax": Case(
        {"launcher": {"jax": {"command": ["python", "/app/train.py"]}}, "roles": {"worker": {"replicas": 2}}},
        formed(2, 2),
        2,
    ),
    "extras": Case({"launcher": {"command": ["python", "/app/train.py"]}, "roles": EXTRAS}, formed(4, 4), 4),
}


TELLS = 'echo "saw $RANK $MASTER_PORT $VC_WORKER_NUM $OMP_NUM_THREADS"'
OVERRIDDEN: dict[str, Any] = {
    "launcher": {"torchrun": {"script": "sh", "args": ["-c", TELLS], "launcher_args": ["--no-python"]}},
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 1, "env": {"OMP_NUM_THREADS": "3"}}},
    "env": {"MASTER_PORT": "23456", "VC_WORKER_NUM": "7", "OMP_NUM_THREADS": "2"},
}


@pytest.fixture(scope="module")
def rehearse(shared_project: Project, live: Live, image: str) -> Rehearsals:
    """Of the pods that Volcano made of every case: they are up side by side."""
    experiments = {name: CASES[name].experiment for name in (*IN_MAKE_TEST, *IN_PROOF)}
    return brought_up(shared_project, {**experiments, "overridden": OVERRIDDEN}, live, image)


IN_MAKE_TEST = {
    "served": "torchrun from the cluster's pods",
    "deepspeed-user": "processes over SSH from the cluster's pods",
}


IN_PROOF = ("accelerate", "mpi-4-apart")
EMULATED = [
    *(pytest.param(name, marks=pytest.mark.shows(why)) for name, why in IN_MAKE_TEST.items()),
    *IN_PROOF,
]  # the others run on real nodes alone


@pytest.mark.parametrize("name", EMULATED)
def test_the_world_forms(name: str, rehearse: Rehearsals) -> None:
    case = CASES[name]
    output = rehearse(name, "--probe").succeeded()
    assert case.formed in output
    assert len(re.findall(r"probe: rank \d+ of", output)) == case.processes


def test_what_the_user_sets_is_what_the_launcher_sees(rehearse: Rehearsals) -> None:
    """Also where the plan, the launch script or Volcano's controller has a value of its own, and in one role alone."""
    output = rehearse("overridden").succeeded()
    assert sorted(re.findall(r"saw .*\d", output)) == ["saw 0 23456 7 2", "saw 1 23456 7 3"]
