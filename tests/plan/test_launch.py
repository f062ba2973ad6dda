"""The launch scripts as a container runs them: /bin/sh on the rendered script, with launchers that only say how they were called.

The launchers are stand-ins for argument passing; the real ones run in `tests/engine`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.samples import WITH_EXTRAS, container, env, plan, reasons
from trainform.plan import Plan

SAY = f"""#!{sys.executable}
import json, os, sys
print(json.dumps([sys.argv, dict(os.environ)]))
"""
ODD = ["--prompt", "a photo of 'sks' \"dog\"", "$HOME", "$(id)", "", "*", "--flag=a b", "line\nfeed", "日本"]
ELASTIC = {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH of which every launcher says how it was called."""
    for name in ("torchrun", "accelerate", "python"):
        tool = tmp_path / name
        tool.write_text(SAY)
        tool.chmod(0o755)
    return tmp_path


def start(made: Plan, role: str, index: int, tools: Path, **environ: str) -> tuple[list[str], dict[str, str]]:
    """Words and environment of what pod `index` of the role starts in the end."""
    variables = {name: value for name, value in env(made, role).items() if isinstance(value, str)}
    main = container(made, role)
    command = [*main["command"], *main.get("args", [])]
    if command[0] == "/bin/sh":
        script = Path(command[1]).name
        (tools / script).write_text(made.scripts[script])
        command[1] = str(tools / script)
        variables["TRAINFORM_REPLICA_INDEX"] = str(index)
    done = subprocess.run(
        command,
        env={"PATH": f"{tools}:/usr/bin:/bin", **variables, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    called, seen = json.loads(done.stdout)
    return [Path(called[0]).name, *called[1:]], seen


def options(called: list[str]) -> dict[str, str]:
    """`--name value` pairs before the script."""
    flags = called[: called.index("/app/train.py")]
    return {flags[i]: flags[i + 1] for i in range(len(flags) - 1) if flags[i].startswith("--")}


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
    called, seen = start(made, role, index, tools)
    assert called[0] == "torchrun"
    assert options(called) == {
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
    called, _ = start(made, role, index, tools)
    assert called[:2] == ["accelerate", "launch"]
    called.remove("--multi_gpu")
    assert options(called) == {
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
    called, _ = start(made, "worker", 0, tools)
    assert called[: called.index("/app/train.py")].count("--multi_gpu") == multi


def test_accelerate_without_accelerators() -> None:
    launcher = {"accelerate": {"script": "/app/train.py"}}
    told = "starts 2 processes, and without accelerators (role worker) accelerate joins them by MPI only"
    assert reasons(launcher=launcher) == {"launcher.accelerate": told}
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
    called, seen = start(made, "worker", index, tools)
    assert options(called) == {
        "--nnodes": "1:4",
        "--nproc-per-node": "4",
        "--rdzv-backend": "c10d",
        "--rdzv-id": f"{made.job}-worker-0",
        "--rdzv-endpoint": f"{made.job}-worker-0.sdxl-lora:29500",
        "--max-restarts": "0",
    }
    assert not {"RANK", "WORLD_SIZE"} & seen.keys()


@pytest.mark.parametrize(("role", "index", "rank"), [("master", 0, "0"), ("worker", 1, "2")])
def test_a_plain_command(role: str, index: int, rank: str, tools: Path) -> None:
    made = plan(launcher={"command": ["python", "/app/train.py", *ODD]}, roles=WITH_EXTRAS)
    called, seen = start(made, role, index, tools)
    assert called == ["python", "/app/train.py", *ODD]
    assert (seen["RANK"], seen["WORLD_SIZE"], seen["MASTER_PORT"]) == (rank, "4", "29500")


def test_a_ranked_role_with_a_command_of_its_own(tools: Path) -> None:
    roles = {**ROLES, "parameter-server": {"replicas": 2, "command": ["python", "/app/serve.py"]}}
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, roles=roles)
    called, seen = start(made, "parameter-server", 1, tools)
    assert called == ["python", "/app/serve.py"]
    assert (seen["RANK"], seen["WORLD_SIZE"]) == ("5", "6")


def test_extras_start_their_command_alone(tools: Path) -> None:
    made = plan(roles=WITH_EXTRAS)
    called, seen = start(made, "evaluation-watcher", 3, tools)
    assert called == ["python", "watch.py"]
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} & seen.keys()


@pytest.mark.parametrize(
    ("variable", "flag"),
    [("RANK", "--node-rank"), ("WORLD_SIZE", "--nnodes"), ("MASTER_ADDR", "--master-addr"), ("MASTER_PORT", "--master-port"),
     ("NPROC_PER_NODE", "--nproc-per-node"), ("MAX_RESTARTS", "--max-restarts")],
)  # fmt: skip
def test_the_user_wins_over_torchrun(variable: str, flag: str, tools: Path) -> None:
    made = plan(launcher={"torchrun": {"script": "/app/train.py"}}, roles=ROLES, env={variable: "77"})
    called, _ = start(made, "worker", 2, tools)
    assert options(called)[flag] == "77"


@pytest.mark.parametrize(
    ("variable", "flag"),
    [("RANK", "--machine_rank"), ("NUM_PROCESSES", "--num_processes"), ("WORLD_SIZE", "--num_machines"), ("RDZV_BACKEND", "--rdzv_backend"),
     ("MASTER_ADDR", "--main_process_ip"), ("MASTER_PORT", "--main_process_port")],
)  # fmt: skip
def test_the_user_wins_over_accelerate(variable: str, flag: str, tools: Path) -> None:
    made = plan(
        launcher={"accelerate": {"script": "/app/train.py"}},
        roles={**ROLES, "worker": {**ROLES["worker"], "env": {variable: "77"}}},
    )
    assert options(start(made, "worker", 2, tools)[0])[flag] == "77"
    assert options(start(made, "master", 0, tools)[0])[flag] != "77"


@pytest.mark.parametrize(("variable", "flag"), [("NNODES", "--nnodes"), ("RDZV_ID", "--rdzv-id")])
def test_the_user_wins_over_elastic(variable: str, flag: str, tools: Path) -> None:
    made = plan(launcher={"torchrun": ELASTIC}, roles={"worker": {"replicas": 2}}, env={variable: "77"})
    assert options(start(made, "worker", 0, tools)[0])[flag] == "77"


def test_without_an_index_the_script_says_so(tools: Path) -> None:
    """An index that Kubernetes did not hand in must not quietly become rank 0."""
    made = plan(launcher={"command": ["python", "/app/train.py"]})
    script = tools / "launch.sh"
    script.write_text(made.scripts["launch.sh"])
    done = subprocess.run(
        ["/bin/sh", str(script), "python"],
        env={"PATH": str(tools), "TRAINFORM_RANK_OFFSET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TRAINFORM_REPLICA_INDEX" in done.stderr
