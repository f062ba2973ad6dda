"""The PyTorch probe under a plain command and torchrun: its lines when the world forms, and the variable or host that
it names when the world does not. tests/engine/test_rehearsals.py tests from the cluster that worlds form under every
launcher."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.probed_pods import PORT, Cluster, Clusters
from trainform.local.rehearsal.probe import MOUNT
from trainform.plan.model import Pod

pytestmark = pytest.mark.proof("every mistake that a probe names")


TORCHRUN: dict[str, Any] = {"torchrun": {"script": "/app/train.py", "processes_per_node": 2}}
TWO_NODES: dict[str, Any] = {"worker": {"replicas": 2}}


def torchrun(cluster: Cluster, place: int, *options: str, processes: int = 2) -> list[str]:
    """The command of a static node, run by the watch."""
    master = cluster.pods[0].address
    return [
        "python3", f"{MOUNT}/probe_watch.py", "torchrun", "--nnodes", str(len(cluster.pods)), "--nproc_per_node",
        str(processes),
        "--node_rank", str(place), "--master_addr", master, "--master_port", str(PORT), *options,
        f"{MOUNT}/probe_torch.py", "--with", "torch",
    ]  # fmt: skip


def of_master(cluster: Cluster, rank: int, size: int) -> dict[str, str]:
    """The variables that a plain command gets."""
    master = {"MASTER_ADDR": cluster.pods[0].address, "MASTER_PORT": str(PORT)}
    return {**master, "RANK": str(rank), "WORLD_SIZE": str(size)}


def plain(cluster: Cluster, place: int, **env: str) -> Pod:
    """Start the probe as a plain command."""
    variables = {**of_master(cluster, place, len(cluster.pods)), **env}
    return cluster.start(place, ["python3", f"{MOUNT}/probe_torch.py"], **variables)


def connected(cluster: Cluster, pod: Pod) -> None:
    """Wait until a pod has reached the store."""
    cluster.run(pod, "sh", "-c", f"until grep -q ':{PORT:04X} 01' /proc/net/tcp*; do sleep 0.2; done")


@pytest.mark.shows("a probe")
def test_a_single_process(clusters: Clusters) -> None:
    cluster = clusters(roles={"worker": {"replicas": 1}})
    ended = cluster.ended(plain(cluster, 0))
    assert (ended.code, ended.reported[-1]) == (0, "world formed: 1 process on 1 node")


@pytest.mark.shows("a probe that finds a mistake")
def test_a_wrong_world_size_is_named(clusters: Clusters) -> None:
    cluster = clusters(roles=TWO_NODES)
    pods = [plain(cluster, place, WORLD_SIZE="3") for place in range(2)]
    for pod in pods:
        ended = cluster.ended(pod)
        assert (ended.code, ended.reported) == (1, ["WORLD_SIZE is 3, the plan says 2"])


def test_missing_peers_are_named(clusters: Clusters) -> None:
    """One pod runs and hangs, another one was not started."""
    cluster = clusters(roles={"worker": {"replicas": 4}})
    hangs, gone = cluster.start(2, ["sleep", "600"]), cluster.pods[3]
    pods = [plain(cluster, 1), plain(cluster, 0, TRAINFORM_PROBE_TIMEOUT="12")]
    second, first = (cluster.ended(pod) for pod in pods)
    assert (first.code, second.code) == (1, 1)
    assert len(first.reported) == 1
    assert first.reported == second.reported
    assert first.reported[0].startswith(f"the world did not form within 12 s: missing: rank 2 ({hangs.name}: ")
    assert first.reported[0].endswith(f" did not join), rank 3 ({gone.name}: the name {gone.address} does not resolve)")


def test_a_node_that_torchrun_waits_for_is_named(clusters: Clusters) -> None:
    """torchrun starts no script before all nodes have met, so the watch names the nodes that were not started."""
    cluster = clusters(launcher=TORCHRUN, roles={"worker": {"replicas": 4}})
    env = {"MASTER_ADDR": cluster.pods[0].address, "MASTER_PORT": str(PORT), "TRAINFORM_PROBE_TIMEOUT": "120"}
    pods = [cluster.start(place, torchrun(cluster, place), **env) for place in range(2)]
    cluster.start(2, ["sleep", "600"])
    connected(cluster, pods[1])
    # a second watch in the same pod, whose time is over at once: how long an agent needs to get here, a busy machine
    # decides
    watch = ["env", "TRAINFORM_PROBE_TIMEOUT=0", "python3", f"{MOUNT}/probe_watch.py", "sleep", "600"]
    for pod in pods:
        ended = cluster.run(pod, *watch)
        missing = f"the world did not form within 0 s: missing: {cluster.pods[3].name} (no such name)"
        assert (ended.code, ended.reported) == (1, [missing])


def test_a_launcher_that_never_starts_is_ended(clusters: Clusters) -> None:
    cluster = clusters(launcher=TORCHRUN, roles=TWO_NODES)
    command = ["python3", f"{MOUNT}/probe_watch.py", "sleep", "600"]
    master = {"MASTER_ADDR": cluster.pods[0].address, "MASTER_PORT": str(PORT)}
    pod = cluster.start(0, command, **master, TRAINFORM_PROBE_TIMEOUT="1")
    ended = cluster.ended(pod, seconds=30)
    assert ended.code == 1
    assert ended.reported[0].startswith(f"the world did not form within 1 s: {pod.name} does not reach MASTER_ADDR:")
    assert ended.reported[0].endswith(f"where nothing listens on port {PORT}")
