"""The launch scripts of worlds in which every pod starts its own processes, as a container runs them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import RUN, start
from tests.support.samples import WITH_EXTRAS, environment, plan, reasons
from trainform.plan.launch.scripts import script

ODD = ["--prompt", "a photo of 'sks' \"dog\"", "$HOME", "$(id)", "", "*", "--flag=a b", "line\nfeed", "日本"]
ELASTIC = {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}


ROLES: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 8}},
    "worker": {"replicas": 3, "accelerators": {"a800": 8}},
}


@pytest.mark.parametrize(("role", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 2, "3")])
def test_torchrun(role: str, index: int, rank: str, tools: Path) -> None:
    launcher = {
        "torchrun": {
            "script": "/app/train.py",
            "args": ODD,
            "launcher_args": ["--log-dir", "/logs/a b"],
            "max_restarts": 3,
        }
    }
    made = plan(launcher=launcher, roles=ROLES)
    started = start(made, role, index, tools)
    called, seen = started.called, started.env
    assert called[0] == "torchrun"
    assert started.options() == {
        "--nnodes": "4",
        "--nproc-per-node": "8",
        "--node-rank": rank,
        "--master-addr": f"{made.job}-master-0.sdxl-lora",
        "--master-port": "29500",
        "--max-restarts": "3",
        "--log-dir": "/logs/a b",
    }
    assert called[called.index("/app/train.py") + 1 :] == ODD
    assert (seen["RANK"], seen["WORLD_SIZE"]) == (rank, "4")


@pytest.mark.parametrize(("role", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 2, "3")])
def test_accelerate(role: str, index: int, rank: str, tools: Path) -> None:
    made = plan(launcher={"accelerate": {"script": "/app/train.py", "args": ODD}}, roles=ROLES)
    started = start(made, role, index, tools)
    called = started.called
    assert called[:2] == ["accelerate", "launch"]
    called.remove("--multi_gpu")
    assert started.options() == {
        "--num_processes": "32",
        "--num_machines": "4",
        "--machine_rank": rank,
        "--rdzv_backend": "static",
        "--main_process_ip": f"{made.job}-master-0.sdxl-lora",
        "--main_process_port": "29500",
    }
    assert called[called.index("/app/train.py") + 1 :] == ODD


MULTI_GPU = [
    ({"replicas": 4, "accelerators": {"a800": 1}}, {}, True),
    ({"replicas": 1, "accelerators": {"a800": 8}}, {}, True),
    ({"replicas": 1, "accelerators": {"a800": 1}}, {}, False),
    ({"replicas": 1}, {}, False),
    ({"replicas": 2, "accelerators": {"a800": 8}}, {"processes_per_node": 1}, True),
    ({"replicas": 2, "accelerators": {"a800": 8}}, {"launcher_args": ["--mixed_precision", "bf16"]}, True),
    ({"replicas": 2, "accelerators": {"a800": 8}}, {"launcher_args": ["--use_deepspeed"]}, False),
    ({"replicas": 2, "accelerators": {"a800": 8}}, {"launcher_args": ["--use-fsdp"]}, False),
    ({"replicas": 2, "accelerators": {"a800": 8}}, {"launcher_args": ["--config_file=/app/fsdp.yaml"]}, False),
]


@pytest.mark.parametrize(("worker", "words", "multi"), MULTI_GPU)
def test_accelerate_joins_nodes_of_one_accelerator(
    worker: dict[str, Any], words: dict[str, Any], multi: bool, tools: Path
) -> None:
    """accelerate turns multi_gpu on by itself only where a node has several; then each node would train alone."""
    made = plan(launcher={"accelerate": {"script": "/app/train.py", **words}}, roles={"worker": worker})
    called = start(made, "worker", 0, tools).called
    assert called[: called.index("/app/train.py")].count("--multi_gpu") == multi


@pytest.mark.parametrize(
    ("replicas", "words", "alone"),
    [(2, ["--use_deepspeed"], True), (2, ["--use-deepspeed"], True), (1, ["--use_deepspeed"], False), (2, [], False)],
)
def test_accelerate_joins_nodes_with_deepspeed(replicas: int, words: list[str], alone: bool, tools: Path) -> None:
    worker = {"replicas": replicas, "accelerators": {"a800": 8}}
    launcher = {"accelerate": {"script": "/app/train.py", "launcher_args": words}}
    options = start(plan(launcher=launcher, roles={"worker": worker}), "worker", 0, tools).options()
    assert options.get("--deepspeed_multinode_launcher") == ("standard" if alone else None)


def test_accelerate_without_accelerators() -> None:
    launcher = {"accelerate": {"script": "/app/train.py"}}
    reason = "the launcher starts 2 processes, and without accelerators (role worker) accelerate joins them by MPI only"
    assert reasons(launcher=launcher) == {"launcher.accelerate": reason}
    assert reasons(launcher=launcher, roles={"worker": {"accelerators": {"a800": 0}}}) == {}
    mixed = {"master": {"accelerators": {"a800": 1}}, "worker": {}}
    assert reasons(launcher=launcher, roles=mixed).keys() == {"launcher.accelerate"}
    served = {"master": {"accelerators": {"a800": 1}}, "worker": {"command": ["python", "/app/serve.py"]}}
    assert reasons(launcher=launcher, roles=served) == {}
    by_mpi = {"accelerate": {"script": "/app/train.py", "launcher_args": ["--cpu", "--mpirun_hostfile", "/hosts"]}}
    assert reasons(launcher=by_mpi) == {}


@pytest.mark.parametrize("index", [0, 3])
def test_elastic_torchrun(index: int, tools: Path) -> None:
    made = plan(launcher={"torchrun": ELASTIC}, roles={"worker": {"replicas": 4, "accelerators": {"l40s": 4}}})
    started = start(made, "worker", index, tools)
    assert started.options() == {
        "--nnodes": "1:4",
        "--nproc-per-node": "4",
        "--rdzv-backend": "c10d",
        "--rdzv-id": f"{made.job}-worker-0",
        "--rdzv-endpoint": f"{made.job}-worker-0.sdxl-lora:29500",
        "--max-restarts": "0",
    }
    assert not {"RANK", "WORLD_SIZE"} & started.env.keys()
    assert started.asked == [f"wait.sh names {made.job}-worker-0.sdxl-lora"]


@pytest.mark.parametrize(("role", "index", "is_host"), [("master", 0, "1"), ("worker", 0, "0"), ("worker", 2, "0")])
def test_elastic_torchrun_on_the_host_network(role: str, index: int, is_host: str, tools: Path) -> None:
    """Nothing depends on the name of the node."""
    made = plan(launcher={"torchrun": ELASTIC}, roles=ROLES, network={"host": True})
    options = start(made, role, index, tools).options()
    assert (options["--local-addr"], options["--rdzv-conf"]) == ("<status.podIP>", f"is_host={is_host}")


@pytest.mark.parametrize(("role", "index", "rank"), [("master", 0, "0"), ("worker", 1, "2")])
def test_a_plain_command(role: str, index: int, rank: str, tools: Path) -> None:
    made = plan(launcher={"command": ["python", "/app/train.py", *ODD]}, roles=WITH_EXTRAS)
    started = start(made, role, index, tools)
    called, seen = started.called, started.env
    assert called == ["python", "/app/train.py", *ODD]
    assert (seen["RANK"], seen["WORLD_SIZE"], seen["MASTER_PORT"]) == (rank, "4", "29500")


@pytest.mark.parametrize(("role", "index", "rank"), [("master", 0, "0"), ("worker", 2, "3")])
@pytest.mark.parametrize("network", [{}, {"host": True, "addresses": "service"}])
def test_jax(network: dict[str, Any], role: str, index: int, rank: str, tools: Path) -> None:
    """Rank 0 behind a Service binds the port that it opens itself."""
    made = plan(launcher={"jax": {"command": ["python", "/app/train.py", *ODD]}}, roles=ROLES, network=network)
    started = start(made, role, index, tools)
    assert started.called == ["python", "/app/train.py", *ODD]
    met, own = (made.rendezvous.address, made.rendezvous.port), (made.rendezvous.own_address, made.rendezvous.own_port)
    assert (met != own) == bool(network)
    assert {name: value for name, value in started.env.items() if name.startswith("JAX_")} == {
        "JAX_COORDINATOR_ADDRESS": ":".join(map(str, own if rank == "0" else met)),
        "JAX_NUM_PROCESSES": "4",
        "JAX_PROCESS_ID": rank,
    }


def test_a_ranked_role_with_a_command_of_its_own(tools: Path) -> None:
    roles = {**ROLES, "parameter-server": {"replicas": 2, "command": ["python", "/app/serve.py"]}}
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, roles=roles)
    started = start(made, "parameter-server", 1, tools)
    called, seen = started.called, started.env
    assert called == ["python", "/app/serve.py"]
    assert (seen["RANK"], seen["WORLD_SIZE"]) == ("5", "6")


@pytest.mark.parametrize(("replicas", "asked"), [(1, 0), (2, 1)])
def test_waiting_for_the_name_of_rank_0(replicas: int, asked: int, tools: Path) -> None:
    made = plan(roles={"worker": {"replicas": replicas}})
    waited = [f"wait.sh names {made.job}-worker-0.sdxl-lora"]
    started = start(made, "worker", 0, tools)
    assert started.asked == waited * asked
    assert started.env["TRAINFORM_WAIT_SECONDS"] == "600"
    assert ("wait.sh" in made.files) is bool(asked)
    brief = plan(roles={"worker": {"replicas": 2}}, network={"wait": "90s"})
    assert start(brief, "worker", 1, tools).env["TRAINFORM_WAIT_SECONDS"] == "90"


def test_an_elastic_job_that_has_one_node_waits_for_more(tools: Path) -> None:
    made = plan(launcher={"torchrun": ELASTIC}, roles={"worker": {"replicas": 1}})
    assert start(made, "worker", 0, tools).asked == [f"wait.sh names {made.job}-worker-0.sdxl-lora"]


ALONE = environment(admission="none", queues={})
FOR_ALL = "wait.sh names /etc/trainform/peers &"


def test_every_pod_waits_for_all_without_admission() -> None:
    """Nothing else keeps pods from holding nodes for a job of which other pods have none. One with its own command
    waits too."""
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2, "command": ["python", "/app/serve.py"]}}
    extra = {"watcher": {"replicas": 1, "ranked": False, "command": ["python", "watch.py"]}}
    made = plan(
        cluster=ALONE, backend="jobset", launcher={"torchrun": {"script": "/app/train.py"}}, roles=roles | extra
    )
    pods = [f"{made.job}-{pod}.sdxl-lora\n" for pod in ("master-0-0", "worker-0-0", "worker-0-1")]
    assert made.files["peers"] == "".join(pods)
    assert made.files["wait.sh"] == script("wait.sh", ["one-by-one"])
    for name in ("launch.sh", "command.sh"):
        assert made.files[name].count("wait.sh") == made.files[name].count(FOR_ALL) == 1
    assert made.by_name["worker"].launched
    assert not made.by_name["watcher"].launched


def test_pods_wait_for_pods_and_not_for_their_services() -> None:
    """The name of a Service is in DNS without a pod behind it."""
    made = plan(cluster=ALONE, backend="jobset", network={"addresses": "service"})
    assert made.files["peers"].splitlines() == [f"{made.job}-worker-0-{index}.sdxl-lora" for index in (0, 1)]


@pytest.mark.parametrize("backend", ["jobset", "trainer", "kubeflow"])
def test_a_pod_that_serves_waits_for_the_one_that_launches(backend: str) -> None:
    """Which waits for the SSH server of each of them, and so for each pod."""
    made = plan(cluster=ALONE, backend=backend, launcher={"deepspeed": {"script": "/app/train.py"}}, roles=ROLES)
    launching = next(pod for pod in made.pods() if pod.role == "master")
    assert made.files["peers"] == f"{launching.address}\n"
    assert FOR_ALL in made.files["serve.sh"]
    assert FOR_ALL not in made.files["launch.sh"]
    assert "wait.sh ssh /etc/trainform/hostfile" in made.files["launch.sh"]
    assert made.files["wait.sh"] == script("wait.sh", ["at-once"])


@pytest.mark.parametrize(
    ("backend", "parts"),
    [
        ("jobset", {"launcher": {"torchrun": ELASTIC}}),  # its rendezvous waits
        ("kubedl", {"roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}}}),  # its workers have no names
    ],
)
def test_pods_that_wait_for_rank_0_alone(backend: str, parts: dict[str, Any]) -> None:
    files = [plan(cluster=cluster, backend=backend, **parts).files for cluster in (ALONE, None)]
    assert files[0] == files[1]


def test_a_single_pod_waits_for_none() -> None:
    made = plan(cluster=ALONE, backend="jobset", roles={"worker": {"replicas": 1}})
    assert made.files.keys() == {"launch.sh", *RUN}


def test_ssh_beside_a_launcher_that_needs_none(tools: Path) -> None:
    """sshd runs in the background of the roles that have the identity; the script is the same for all."""
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, roles=ROLES, ssh={"roles": ["worker"]})
    worker, master = start(made, "worker", 0, tools), start(made, "master", 0, tools)
    assert worker.asked[0] == master.asked[0] == "sshd.sh background"
    assert worker.env["TRAINFORM_SSH_PORT"] == "22"
    assert "TRAINFORM_SSH_PORT" not in master.env, "the script starts none then"
    assert made.files.keys() == {"launch.sh", *RUN, "wait.sh", "sshd_config", "sshd.sh", "session.sh", "hostfile"}


HOST_SERVICE = {"host": True, "addresses": "service"}


@pytest.mark.parametrize("ports", ["shared", "per-replica"])
def test_rank_0_behind_a_service_opens_its_own_port(ports: str, tools: Path) -> None:
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    made = plan(
        launcher={"torchrun": {"script": "/app/train.py"}}, roles=roles, network={**HOST_SERVICE, "ports": ports}
    )
    first = start(made, "master", 0, tools).options()
    (own,) = [port.number for port in made.roles[0].ports[0] if port.name == "rendezvous"]
    pod = f"{made.job}-master-0-0" if ports == "per-replica" else f"{made.job}-master-0"
    assert (first["--master-addr"], first["--master-port"]) == (f"{pod}.sdxl-lora", str(own))
    assert (made.rendezvous.own_address, made.rendezvous.own_port) == (f"{pod}.sdxl-lora", own)
    for index in (0, 1):
        peer = start(made, "worker", index, tools).options()
        assert (peer["--master-addr"], peer["--master-port"]) == ("sdxl-lora-master-0", "29500")


def test_only_rank_0_of_its_role_opens_the_port(tools: Path) -> None:
    """Under shared ports all replicas of the role have the same template."""
    made = plan(
        launcher={"torchrun": {"script": "/app/train.py"}}, roles={"worker": {"replicas": 3}}, network=HOST_SERVICE
    )
    called = [start(made, "worker", index, tools).options()["--master-addr"] for index in range(3)]
    assert called == [f"{made.job}-worker-0.sdxl-lora", "sdxl-lora-worker-0", "sdxl-lora-worker-0"]


def test_on_the_pod_network_a_service_has_the_port_of_its_pod(tools: Path) -> None:
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, network={"addresses": "service"})
    for index in (0, 1):
        found = start(made, "worker", index, tools).options()
        assert (found["--master-addr"], found["--master-port"]) == ("sdxl-lora-worker-0", "29500")


@pytest.mark.parametrize("network", [HOST_SERVICE, {"addresses": "service"}])
def test_rank_0_uses_the_address_of_the_user_too(network: dict[str, Any], tools: Path) -> None:
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, network=network, env={"MASTER_ADDR": "10.0.0.7"})
    assert start(made, "worker", 0, tools).options()["--master-addr"] == "10.0.0.7"


def test_a_missing_index_is_an_error(tools: Path) -> None:
    """An index that Kubernetes did not hand in must not quietly become rank 0."""
    made = plan(launcher={"command": ["python", "/app/train.py"]})
    script = tools / "launch.sh"
    script.write_text(made.files["launch.sh"])
    done = subprocess.run(
        [str(tools / "sh"), str(script), "python"],
        env={"PATH": str(tools), "TRAINFORM_RANK_OFFSET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TRAINFORM_REPLICA_INDEX" in done.stderr
