"""The problems that the probe names under mpirun of Open MPI 4 and 5. tests/engine/test_rehearsals.py tests from the
cluster that these worlds and DeepSpeed's form; test_worlds.py tests slots on the wrong hosts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.probed_pods import Cluster, Clusters, Ended
from trainform.plan.model import Pod
from trainform.rehearsal.probe import MOUNT

pytestmark = pytest.mark.proof("every mistake that a probe names")


OPEN_MPI_5, OPEN_MPI_4 = "mpirun", "/opt/openmpi4/bin/mpirun"

# What a pod with sshd runs: sessions get the container's variables.
SERVE = """\
set -eu
mkdir -p /root/.ssh /run/sshd
cp /ssh/* /root/.ssh/
chmod 700 /root/.ssh && chmod 600 /root/.ssh/*
env | grep -E '^(TRAINFORM|OMPI|PRTE|DS_)' > /root/.ssh/environment
/usr/sbin/sshd -h /root/.ssh/id_ed25519 -o PermitUserEnvironment=yes
"""


def ssh_keys(folder: Path) -> None:
    """One key for users and hosts, because SSH itself is not what these tests are about."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "id_ed25519")], check=True, timeout=20
    )
    public = (folder / "id_ed25519.pub").read_text()
    (folder / "authorized_keys").write_text(public)
    (folder / "known_hosts").write_text(f"* {public}")


def hostfile(cluster: Cluster, slots: list[int]) -> str:
    """One line per node."""
    return "".join(f"{pod.address} slots={count}\n" for pod, count in zip(cluster.pods, slots, strict=True))


def over_ssh(cluster: Cluster, slots: list[int], launch: str, **env: str) -> Pod:
    """Start nodes that serve SSH, and the launcher's command on the first one as soon as all answer."""
    ssh_keys(cluster.folder)
    (cluster.folder / "hostfile").write_text(hostfile(cluster, slots))
    for place in range(1, len(cluster.pods)):
        cluster.start(place, ["sh", "-c", f"{SERVE}\nsleep 300"], **env)
    wait = "".join(f"until ssh {pod.address} true; do sleep 0.2; done\n" for pod in cluster.pods)
    return cluster.start(0, ["sh", "-c", f"{SERVE}\n{wait}\nexec {launch}"], **env)


MIXED: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 2}},
    "worker": {"replicas": 1, "accelerators": {"a800": 1}},
}


MPI: dict[str, Any] = {"mpi": {"command": ["/app/train"]}}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpi(cluster: Cluster, slots: list[int], mpirun: str) -> Ended:
    command = f"{mpirun} --hostfile /ssh/hostfile -np {sum(slots)} python3 {MOUNT}/probe_mpi.py"
    return cluster.ended(over_ssh(cluster, slots, command, **AS_ROOT))


@pytest.mark.parametrize("mpirun", [OPEN_MPI_4, OPEN_MPI_5], ids=["open-mpi-4", "open-mpi-5"])
def test_a_node_that_mpirun_leaves_out_is_named(clusters: Clusters, mpirun: str) -> None:
    """No process on that node can report it, so the processes of the other nodes do."""
    cluster = clusters(launcher=MPI, roles=MIXED)
    ended = mpi(cluster, [2, 0], mpirun)
    assert ended.code != 0
    size = "OMPI_COMM_WORLD_SIZE is 2, the plan says 3"
    assert set(ended.reported) == {f"{size}: {cluster.pods[1].name} runs no process, the plan says 1"}
