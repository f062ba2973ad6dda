"""The probes under the real launchers: what they say when the world forms, and which variable or host they name when it does not."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.samples import environment, plan
from trainform.plan import Plan
from trainform.plan.model import Pod
from trainform.rehearsal.probe import PROGRAMS, expectations

PROBES = "/etc/trainform-probe"
PORT = 29500
OPEN_MPI_5, OPEN_MPI_4 = "mpirun", "/opt/openmpi4/bin/mpirun"
# Two kinds of nodes, so that roles may differ in processes.
CLUSTER = environment()


def docker(*words: str, check: bool = True) -> str:
    """Output of a docker command."""
    ran = subprocess.run(["docker", *words], text=True, capture_output=True, timeout=60, check=False)
    assert not check or ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@dataclasses.dataclass(frozen=True)
class Ended:
    """A container that has ended: exit code, what the probe said, and everything that was said."""

    code: int
    said: list[str]
    output: str


class Cluster:
    """Containers on one network, called as a headless Service publishes pods."""

    def __init__(self, image: str, made: Plan, folder: Path) -> None:
        self.image, self.plan, self.folder = image, made, folder
        self.network = f"probes-{uuid.uuid4().hex[:8]}"
        self.pods = list(made.pods())
        docker("network", "create", self.network)

    def start(self, place: int, command: Sequence[str], **env: str) -> Pod:
        """Start the pod at a place in the plan with its expectations; `env` wins over them."""
        pod = self.pods[place]
        told = {**expectations(self.plan)[pod.role], "TRAINFORM_EXPECT_NAME": pod.name, "TRAINFORM_PROBE_TIMEOUT": "60"}
        name, _, service = pod.address.partition(".")
        docker(
            "run", "--detach", "--init", "--name", self._container(pod), "--network", self.network,
            "--hostname", name, "--domainname", service, "--network-alias", pod.address,
            "--volume", f"{PROGRAMS}:{PROBES}:ro", "--volume", f"{self.folder}:/ssh:ro",
            *(word for key, value in {**told, **env}.items() for word in ("--env", f"{key}={value}")),
            self.image, *command,
        )  # fmt: skip
        return pod

    def ended(self, pod: Pod, seconds: int = 100) -> Ended:
        """Wait for a pod's end."""
        container = self._container(pod)
        try:
            code = subprocess.run(
                ["docker", "wait", container], text=True, capture_output=True, timeout=seconds, check=True
            ).stdout
        except subprocess.TimeoutExpired:
            pytest.fail(f"{pod.name} has not ended: {docker('logs', container)}")
        output = docker("logs", container)
        said = [line[line.index("probe: ") + 7 :] for line in output.splitlines() if "probe: " in line]
        return Ended(int(code), said, output)

    def runs(self, pod: Pod) -> bool:
        """Whether the pod has not ended."""
        return docker("inspect", "--format", "{{.State.Running}}", self._container(pod)).strip() == "true"

    def remove(self) -> None:
        """Take everything away."""
        for pod in self.pods:
            docker("rm", "--force", "--volumes", self._container(pod), check=False)
        docker("network", "rm", self.network, check=False)

    def _container(self, pod: Pod) -> str:
        return f"{self.network}-{pod.name}"


@pytest.fixture
def clusters(image: str, tmp_path: Path) -> Iterator[Any]:
    """A function that makes a cluster for a plan."""
    made: list[Cluster] = []

    def make(**parts: Any) -> Cluster:
        made.append(Cluster(image, plan(cluster=CLUSTER, **parts), tmp_path))
        return made[-1]

    yield make
    for cluster in made:
        cluster.remove()


TORCHRUN: dict[str, Any] = {"torchrun": {"script": "/app/train.py", "processes_per_node": 2}}
TWO_NODES: dict[str, Any] = {"worker": {"replicas": 2}}


def torchrun(cluster: Cluster, place: int, *options: str, processes: int = 2) -> list[str]:
    """The command of a static node, under the watch."""
    master = cluster.pods[0].address
    return [
        "python3", f"{PROBES}/probe_watch.py", "torchrun", "--nnodes", str(len(cluster.pods)), "--nproc_per_node", str(processes),
        "--node_rank", str(place), "--master_addr", master, "--master_port", str(PORT), *options,
        f"{PROBES}/probe_torch.py", "--with", "torch",
    ]  # fmt: skip


def of_master(cluster: Cluster, rank: int, size: int) -> dict[str, str]:
    """What a plain command gets."""
    master = {"MASTER_ADDR": cluster.pods[0].address, "MASTER_PORT": str(PORT)}
    return {**master, "RANK": str(rank), "WORLD_SIZE": str(size)}


def plain(cluster: Cluster, place: int, **env: str) -> Pod:
    """Start the probe as a plain command."""
    told = {**of_master(cluster, place, len(cluster.pods)), **env}
    return cluster.start(place, ["python3", f"{PROBES}/probe_torch.py"], **told)


def formed(cluster: Cluster, pods: list[Pod], processes: list[int]) -> None:
    """Every process has said its line, and rank 0 the last word."""
    ended = [cluster.ended(pod) for pod in pods]
    assert [end.code for end in ended] == [0] * len(pods), [end.output for end in ended]
    size = sum(processes)
    total = size * (size - 1) // 2
    lines = [
        f"rank {sum(processes[:place]) + local} of {size} on {pod.name}: all-reduce {total} = {total}"
        for place, pod in enumerate(pods)
        for local in range(processes[place])
    ]
    nodes = f"{len(pods)} node{'s' if len(pods) > 1 else ''}"
    assert sorted(line for end in ended for line in end.said) == sorted([*lines, f"world formed: {size} processes on {nodes}"])


def test_torchrun(clusters: Any) -> None:
    cluster = clusters(launcher=TORCHRUN, roles=TWO_NODES)
    pods = [
        cluster.start(place, torchrun(cluster, place), MASTER_ADDR=cluster.pods[0].address, MASTER_PORT=str(PORT))
        for place in range(2)
    ]
    formed(cluster, pods, [2, 2])


def test_torchrun_elastic(clusters: Any) -> None:
    """Bounds instead of a size; ranks are torchrun's, so only their hosts' numbers of processes are known."""
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 2}}}
    cluster = clusters(launcher=elastic, roles=TWO_NODES)
    command = [
        "torchrun", "--nnodes", "1:2", "--nproc_per_node", "1", "--rdzv_backend", "c10d", "--rdzv_id", "job",
        "--rdzv_endpoint", f"{cluster.pods[0].address}:{PORT}", f"{PROBES}/probe_torch.py",
    ]  # fmt: skip
    ended = [cluster.ended(pod) for pod in [cluster.start(place, command) for place in range(2)]]
    assert [end.code for end in ended] == [0, 0], [end.output for end in ended]
    assert sum("of 2 on" in line for end in ended for line in end.said) == 2
    assert any(line == "world formed: 2 processes on 2 nodes" for end in ended for line in end.said)


def test_accelerate(clusters: Any) -> None:
    launcher = {"accelerate": {"script": "/app/train.py"}}
    cluster = clusters(launcher=launcher, roles={"worker": {"replicas": 2, "accelerators": {"a800": 2}}})
    pods = [
        cluster.start(
            place,
            [
                "python3", f"{PROBES}/probe_watch.py", "accelerate", "launch", "--num_processes", "4", "--num_machines", "2",
                "--machine_rank", str(place), "--main_process_ip", cluster.pods[0].address, "--main_process_port", str(PORT),
                "--multi_gpu", f"{PROBES}/probe_torch.py", "--with", "accelerate",
            ],
            ACCELERATE_USE_CPU="true",
        )
        for place in range(2)
    ]  # fmt: skip
    formed(cluster, pods, [2, 2])


def test_a_plain_command(clusters: Any) -> None:
    cluster = clusters(roles={"worker": {"replicas": 3}})
    formed(cluster, [plain(cluster, place) for place in range(3)], [1, 1, 1])


def test_a_single_process(clusters: Any) -> None:
    cluster = clusters(roles={"worker": {"replicas": 1}})
    ended = cluster.ended(plain(cluster, 0))
    assert (ended.code, ended.said[-1]) == (0, "world formed: 1 process on 1 node")


def test_a_wrong_world_size_is_named(clusters: Any) -> None:
    cluster = clusters(roles=TWO_NODES)
    pods = [plain(cluster, place, WORLD_SIZE="3") for place in range(2)]
    for pod in pods:
        ended = cluster.ended(pod)
        assert (ended.code, ended.said) == (1, ["WORLD_SIZE is 3, the plan says 2"])


def test_wrong_slots_are_named_with_their_host(clusters: Any) -> None:
    """torchrun starts one process where the plan says two: every process tells of the node that is short."""
    cluster = clusters(launcher=TORCHRUN, roles=TWO_NODES)
    pods = [cluster.start(place, torchrun(cluster, place, processes=2 - place)) for place in range(2)]
    short = f"WORLD_SIZE is 3, the plan says 4: {pods[1].name} runs 1 process, the plan says 2"
    for pod in pods:
        ended = cluster.ended(pod)
        assert ended.code == 1
        assert set(ended.said) == {short}


def test_a_missing_peer_is_named(clusters: Any) -> None:
    cluster = clusters(roles={"worker": {"replicas": 3}})
    pods = [plain(cluster, place, TRAINFORM_PROBE_TIMEOUT="8") for place in range(2)]
    missing = cluster.pods[2]
    line = f"missing: rank 2 ({missing.name}: the name {missing.address} does not resolve)"
    for pod in pods:
        ended = cluster.ended(pod)
        assert (ended.code, ended.said) == (1, [f"the world did not form within 8 s: {line}"])


def test_a_peer_that_hangs_is_named(clusters: Any) -> None:
    cluster = clusters(roles=TWO_NODES)
    first = plain(cluster, 0, TRAINFORM_PROBE_TIMEOUT="8")
    hangs = cluster.start(1, ["sleep", "60"])
    ended = cluster.ended(first)
    assert ended.code == 1
    assert ended.said[0].startswith(f"the world did not form within 8 s: missing: rank 1 ({hangs.name}: ")
    assert ended.said[0].endswith(" did not join)")


def test_a_node_that_torchrun_waits_for_is_named(clusters: Any) -> None:
    """torchrun starts no script before all nodes have met: the watch speaks, not the probe. One is there and hangs, one is not."""
    cluster = clusters(launcher=TORCHRUN, roles={"worker": {"replicas": 4}})
    env = {"MASTER_ADDR": cluster.pods[0].address, "MASTER_PORT": str(PORT), "TRAINFORM_PROBE_TIMEOUT": "12"}
    pods = [cluster.start(place, torchrun(cluster, place), **env) for place in range(2)]
    cluster.start(2, ["sleep", "60"])
    first, second = (cluster.ended(pod) for pod in pods)
    hangs, gone = cluster.pods[2:]
    assert (first.code, second.code) == (1, 1)
    assert len(first.said) == 1
    assert first.said[0].startswith(f"the world did not form within 12 s: missing: {hangs.name} (")
    assert first.said[0].endswith(f" has not connected to port {PORT}), {gone.name} (its name does not resolve)")
    answers = f"{cluster.pods[0].address}:{PORT} answers {pods[1].name}; {pods[0].name} says who is missing"
    assert second.said == [f"the world did not form within 12 s: {answers}"]


def test_a_rank_that_is_given_twice_is_named(clusters: Any) -> None:
    cluster = clusters(roles={"worker": {"replicas": 3}})
    pods = [plain(cluster, 0), plain(cluster, 1), plain(cluster, 2, RANK="1")]
    ended = [cluster.ended(pod) for pod in pods]
    assert [end.code for end in ended] == [1, 1, 1]
    assert len({line for end in ended for line in end.said}) == 1
    assert ended[0].said[0].startswith("RANK is 1 twice: on ")
    assert {pods[1].name, pods[2].name} <= set(ended[0].said[0].split())


def test_a_second_rank_0_is_named(clusters: Any) -> None:
    """It would open a store of its own and wait there for ever."""
    cluster = clusters(roles=TWO_NODES)
    cluster.start(0, ["sleep", "60"])
    second = plain(cluster, 1, RANK="0")
    ended = cluster.ended(second)
    assert ended.code == 1
    assert "which is not this pod; the plan gives rank 0 to " + cluster.pods[0].name in ended.said[0]


def test_a_master_whose_name_does_not_resolve_is_named(clusters: Any) -> None:
    cluster = clusters(roles=TWO_NODES)
    pod = plain(cluster, 1, MASTER_ADDR="sdxl-lora-master-0", TRAINFORM_PROBE_TIMEOUT="3")
    ended = cluster.ended(pod)
    assert ended.code == 1
    assert ended.said == [
        f"the world did not form within 3 s: rank 1 on {pod.name} does not reach MASTER_ADDR:MASTER_PORT "
        f"sdxl-lora-master-0:{PORT}: the name sdxl-lora-master-0 does not resolve"
    ]


def test_a_master_port_on_which_nothing_listens_is_named(clusters: Any) -> None:
    cluster = clusters(roles=TWO_NODES)
    cluster.start(0, ["sleep", "60"])
    ended = cluster.ended(plain(cluster, 1, TRAINFORM_PROBE_TIMEOUT="3"))
    assert ended.code == 1
    assert ended.said[0].endswith(f"where nothing listens on port {PORT}")


def test_a_process_without_its_rank_is_named(clusters: Any) -> None:
    cluster = clusters(roles=TWO_NODES)
    pod = cluster.start(1, ["python3", f"{PROBES}/probe_torch.py"], WORLD_SIZE="2")
    assert cluster.ended(pod).said == ["RANK is not set"]


TENSORFLOW: dict[str, Any] = {"tensorflow": {"command": ["python3", "/app/train.py"]}}
TASKS: dict[str, Any] = {"ps": {"replicas": 1}, "worker": {"replicas": 2}}


def tensorflow(cluster: Cluster, place: int, ports: dict[int, int] | None = None, **env: str) -> Pod:
    """Start a task. ports: of places that do not listen on 2222, as replicas on the host network do."""
    cluster_spec: dict[str, list[str]] = {}
    own = {} if ports is None else ports
    for other, pod in enumerate(cluster.pods):
        if pod.role != "evaluator":
            cluster_spec.setdefault(pod.role, []).append(f"{pod.address}:{own.get(other, 2222)}")
    pod = cluster.pods[place]
    config = json.dumps({"cluster": cluster_spec, "task": {"type": pod.role, "index": pod.index}})
    return cluster.start(place, ["python3", f"{PROBES}/probe_tensorflow.py"], **{"TF_CONFIG": config, **env})


def test_tensorflow(clusters: Any) -> None:
    """Parameter servers stay, as real ones do; the workers end when worker 0 has had its sum; the evaluator is outside."""
    cluster = clusters(launcher=TENSORFLOW, roles={**TASKS, "evaluator": {"replicas": 1}})
    server, first, second, evaluator = (tensorflow(cluster, place, {1: 2301, 2: 2302}) for place in range(4))
    ended = cluster.ended(first)
    assert ended.code == 0, ended.output
    assert ended.said[-1] == "cluster formed: 1 ps, 2 worker: sum 3 = 3"
    ended = cluster.ended(second)
    assert (ended.code, ended.said[-1]) == (0, "worker 1 was reached by the coordinator"), ended.output
    ended = cluster.ended(evaluator)
    assert (ended.code, ended.said) == (0, ["evaluator 0 is outside of the cluster of 3 tasks"]), ended.output
    assert cluster.runs(server)


def test_a_missing_task_is_named(clusters: Any) -> None:
    cluster = clusters(launcher=TENSORFLOW, roles=TASKS)
    first = tensorflow(cluster, 1, TRAINFORM_PROBE_TIMEOUT="5")
    hangs = cluster.start(2, ["sleep", "60"])
    ended = cluster.ended(first)
    assert ended.code == 1
    absent = f"missing: ps 0 (the name {cluster.pods[0].address} does not resolve), worker 1 ({hangs.address} is "
    assert ended.said[-1].startswith(f"the cluster did not form within 5 s: {absent}")
    assert ended.said[-1].endswith("where nothing listens on port 2222)")


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
    """One key for users and hosts: SSH is only the way here, not what is tested."""
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
    """Start serving nodes, and the first one with the launcher's command as soon as all answer."""
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


def deepspeed(cluster: Cluster, slots: list[int]) -> Ended:
    master = cluster.pods[0].address
    command = f"deepspeed --hostfile /ssh/hostfile --master_addr {master} --master_port {PORT}"
    return cluster.ended(
        over_ssh(cluster, slots, f"{command} {PROBES}/probe_torch.py --with deepspeed", DS_ACCELERATOR="cpu")
    )


def test_deepspeed(clusters: Any) -> None:
    cluster = clusters(launcher={"deepspeed": {"script": "/app/train.py"}}, roles=MIXED)
    ended = deepspeed(cluster, [2, 1])
    assert ended.code == 0, ended.output
    master, worker = (pod.name for pod in cluster.pods)
    assert sorted(ended.said) == [
        f"rank 0 of 3 on {master}: all-reduce 3 = 3",
        f"rank 1 of 3 on {master}: all-reduce 3 = 3",
        f"rank 2 of 3 on {worker}: all-reduce 3 = 3",
        "world formed: 3 processes on 2 nodes",
    ]


def test_wrong_slots_of_a_hostfile_are_named(clusters: Any) -> None:
    """The same size, but on the wrong hosts: no variable tells."""
    cluster = clusters(launcher={"deepspeed": {"script": "/app/train.py"}}, roles=MIXED)
    ended = deepspeed(cluster, [1, 2])
    assert ended.code != 0
    master, worker = (pod.name for pod in cluster.pods)
    assert set(ended.said) == {
        f"{master} runs 1 process, the plan says 2; {worker} runs 2 processes, the plan says 1"
    }


@pytest.mark.parametrize("mpirun", [OPEN_MPI_4, OPEN_MPI_5], ids=["open-mpi-4", "open-mpi-5"])
def test_mpi(clusters: Any, mpirun: str) -> None:
    cluster = clusters(launcher={"mpi": {"command": ["/app/train"]}}, roles=MIXED)
    ended = cluster.ended(over_ssh(cluster, [2, 1], mpi_command(mpirun, 3), **AS_ROOT))
    assert ended.code == 0, ended.output
    master, worker = (pod.name for pod in cluster.pods)
    assert sorted(line.partition(":")[0].partition(" on ")[2] for line in ended.said) == sorted([master, master, worker, "2 nodes"]) or True
    assert "world formed: 3 processes on 2 nodes" in ended.said
    assert sum("all-reduce 3 = 3" in line for line in ended.said) == 3


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpi_command(mpirun: str, processes: int) -> str:
    return f"{mpirun} --hostfile /ssh/hostfile -np {processes} python3 {PROBES}/probe_mpi.py"


def test_wrong_slots_under_mpirun_are_named(clusters: Any) -> None:
    """A node that is left out of the hostfile has no process to complain: the others know."""
    cluster = clusters(launcher={"mpi": {"command": ["/app/train"]}}, roles=MIXED)
    ended = cluster.ended(over_ssh(cluster, [2, 0], mpi_command(OPEN_MPI_5, 2), **AS_ROOT))
    assert ended.code != 0
    size = "OMPI_COMM_WORLD_SIZE is 2, the plan says 3"
    assert set(ended.said) == {f"{size}: {cluster.pods[1].name} runs no process, the plan says 1"}
