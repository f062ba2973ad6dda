"""DeepSpeed and MPI: one pod launches over SSH by the plan's hostfile, the others serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import RUN, kubelet, start
from tests.support.samples import plan, reasons
from trainform.plan.model import Plan

SCRIPT = {"script": "/app/train.py"}
DEEPSPEED: dict[str, Any] = {"name": "llama-sft", "launcher": {"deepspeed": SCRIPT}}
MPI: dict[str, Any] = {
    "name": "llama-sft",
    "launcher": {"mpi": {"command": ["python", "/app/train.py", "--steps", "10"]}},
}
# heterogeneous: what Volcano's ssh plugin and the common recipes cannot say
ROLES: dict[str, Any] = {
    "master": {"accelerators": {"a800": 4}},
    "worker": {"replicas": 2, "accelerators": {"a800": 8}},
}
APART: dict[str, Any] = {
    "worker": {"replicas": 2, "accelerators": {"a800": 8}},
    "launcher": {"ranked": False, "cpu": 1},
}
HOSTFILE = "/etc/trainform/hostfile"


def apart(parts: dict[str, Any]) -> dict[str, Any]:
    (kind,) = parts["launcher"]
    return {**parts, "launcher": {kind: {**parts["launcher"][kind], "role": "launcher"}}, "roles": APART}


def hostfile(made: Plan) -> list[str]:
    return made.files["hostfile"].splitlines()


@pytest.mark.parametrize("parts", [DEEPSPEED, MPI])
def test_the_hostfile(parts: dict[str, Any]) -> None:
    made = plan(**parts, roles=ROLES)
    assert hostfile(made) == [
        f"{made.job}-master-0.llama-sft slots=4",
        f"{made.job}-worker-0.llama-sft slots=8",
        f"{made.job}-worker-1.llama-sft slots=8",
    ]
    assert made.world.processes == sum(int(line.partition("=")[2]) for line in hostfile(made)) == 20
    assert (made.hosts[0].address, made.hosts[0].slots) == (f"{made.job}-master-0.llama-sft", 4)


@pytest.mark.parametrize("parts", [DEEPSPEED, MPI])
def test_a_launcher_apart_is_no_host(parts: dict[str, Any], tools: Path) -> None:
    made = plan(**apart(parts))
    assert hostfile(made) == [f"{made.job}-worker-{index}.llama-sft slots=8" for index in (0, 1)]
    started = start(made, "launcher", 0, tools)
    assert started.asked == ["sshd.sh background", f"wait.sh ssh {HOSTFILE}"]
    assert "TRAINFORM_SSH_PORT" not in started.env, "nobody comes to it, so its sshd does not start"
    assert "RANK" not in started.env
    assert kubelet(made, "worker", 0)[0] == ["/bin/sh", "/etc/trainform/run.sh", "/bin/sh", "/etc/trainform/serve.sh"]


def test_hosts_behind_services() -> None:
    made = plan(**MPI, roles=ROLES, network={"addresses": "service"})
    assert hostfile(made) == ["llama-sft-master-0 slots=4", "llama-sft-worker-0 slots=8", "llama-sft-worker-1 slots=8"]


@pytest.mark.parametrize(
    ("accelerators", "per_node", "slots"),
    [({}, None, 1), ({"a800": 0}, None, 1), ({"l40s": 4}, None, 4), ({"a800": 8}, 2, 2)],
)
def test_slots(accelerators: dict[str, int], per_node: int | None, slots: int) -> None:
    launcher = {"mpi": {"command": ["python"], **({} if per_node is None else {"processes_per_node": per_node})}}
    made = plan(launcher=launcher, roles={"worker": {"accelerators": accelerators}})
    assert hostfile(made) == [f"{made.job}-worker-0.sdxl-lora slots={slots}"]


def test_deepspeed(tools: Path) -> None:
    launcher = {
        "deepspeed": {
            **SCRIPT,
            "args": ["--deepspeed_config", "/app/zero 3.json"],
            "launcher_args": ["--log_level", "info"],
        }
    }
    made = plan(**{**DEEPSPEED, "launcher": launcher}, roles=ROLES)
    started = start(made, "master", 0, tools)
    assert started.called == [
        "deepspeed", "--hostfile", HOSTFILE, "--master_addr", f"{made.job}-master-0.llama-sft", "--master_port",
        "29500",
        "--log_level", "info", "/app/train.py", "--deepspeed_config", "/app/zero 3.json",
    ]  # fmt: skip
    assert started.asked == ["sshd.sh background", f"wait.sh ssh {HOSTFILE}"]
    assert started.env["TRAINFORM_SSH_PORT"] == "22"


def test_deepspeed_does_not_start_on_a_pod_that_computes_nothing(tools: Path) -> None:
    """With one host in the file it would start the processes where it is itself."""
    made = plan(**apart(DEEPSPEED))
    assert "--force_multi" in start(made, "launcher", 0, tools).called
    assert "--force_multi" not in start(plan(**DEEPSPEED, roles=ROLES), "master", 0, tools).called
    assert start(made, "launcher", 0, tools).options()["--master_addr"] == f"{made.job}-worker-0.llama-sft"


def test_mpi(tools: Path) -> None:
    launcher = {"mpi": {"command": ["python", "/app/train.py"], "launcher_args": ["-x", "NCCL_DEBUG"]}}
    made = plan(**{**MPI, "launcher": launcher}, roles=ROLES)
    called = start(made, "master", 0, tools).called
    assert called == ["mpirun", "-np", "20", "-x", "NCCL_DEBUG", "python", "/app/train.py"]


def test_a_single_pod_serves_itself(tools: Path) -> None:
    made = plan(**MPI, roles={"worker": {"accelerators": {"a800": 8}}})
    assert start(made, "worker", 0, tools).called[1:3] == ["-np", "8"]
    assert made.files.keys() == {"launch.sh", *RUN, "wait.sh", "sshd.sh", "sshd_config", "session.sh", "hostfile"}


TWO: dict[str, Any] = {"master": {}, "worker": {}}
ONE_POD = "the role launches ({} starts all processes from one pod), so it must have 1 replica"
FIRST_POD = "the first pod of the role launcher launches, and becomes the role launcher in the plan"
NO_PLACE = "the command has no place: {} starts the processes of ranked roles over SSH, from the role "


@pytest.mark.parametrize("kind", ["deepspeed", "mpi"])
@pytest.mark.parametrize(
    ("role", "roles", "path", "reason"),
    [
        (None, {"launcher": {"replicas": 2}}, "roles.launcher", FIRST_POD),
        ("worker", TWO, "launcher.{}.role", "the launching role is ranked, but rank 0 is in master"),
        ("launcher", {**APART, "launcher": {"ranked": False, "replicas": 0}}, "roles.launcher.replicas", ONE_POD),
        (
            "launcher",
            {**APART, "launcher": {"ranked": False, "command": ["sh"]}},
            "roles.launcher.command",
            f"{NO_PLACE}launcher",
        ),
        (None, {**TWO, "worker": {"command": ["sh"]}}, "roles.worker.command", f"{NO_PLACE}master"),
    ],
)
def test_rules(kind: str, role: str | None, roles: dict[str, Any], path: str, reason: str) -> None:
    words = SCRIPT if kind == "deepspeed" else {"command": ["python"]}
    launcher = {kind: {**words, **({} if role is None else {"role": role})}}
    assert reasons(launcher=launcher, roles=roles).items() >= {path.format(kind): reason.format(kind)}.items()


@pytest.mark.parametrize("kind", ["deepspeed", "mpi"])
def test_valid_roles(kind: str) -> None:
    words = SCRIPT if kind == "deepspeed" else {"command": ["python"]}
    assert reasons(launcher={kind: words}, roles=ROLES) == {}
    assert reasons(launcher={kind: {**words, "role": "master"}}, roles=ROLES) == {}
    assert reasons(launcher={kind: {**words, "role": "launcher"}}, roles=APART) == {}
    extras = {**ROLES, "watcher": {"ranked": False, "command": ["python", "watch.py"], "replicas": 4}}
    assert reasons(launcher={kind: words}, roles=extras) == {}
    assert reasons(launcher={kind: words}, roles={"worker": {"replicas": 4}}) == {}
