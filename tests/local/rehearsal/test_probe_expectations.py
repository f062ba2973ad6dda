"""The expectations that the probes get, and their place in a workload."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.workloads import with_probe
from tests.support.samples import plan
from trainform.errors import InputError
from trainform.local.rehearsal.probe import CONFIG_MAP, MOUNT, PROBES, check_probe, probe_args, programs
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.plan.variables import VARIABLES
from trainform.spec.launchers import LAUNCHERS, Launcher

SCRIPT: dict[str, Any] = {"script": "/app/train.py", "args": ["--epochs", "90"], "launcher_args": ["--tee", "3"]}
MIXED: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 2}},
    "worker": {"replicas": 2, "accelerators": {"l40s": 1}},
}


def test_every_launcher_has_a_probe() -> None:
    assert PROBES.keys() == VARIABLES.keys() == set(LAUNCHERS)
    assert {probe.program for probe in PROBES.values()} <= programs().keys()


@pytest.mark.parametrize(
    ("launcher", "words"),
    [
        ({"torchrun": SCRIPT}, ["--tee", "3", f"{MOUNT}/probe_torch.py", "--with", "torch"]),
        ({"accelerate": SCRIPT}, ["--tee", "3", f"{MOUNT}/probe_torch.py", "--with", "accelerate"]),
        ({"deepspeed": SCRIPT}, ["--tee", "3", f"{MOUNT}/probe_torch.py", "--with", "deepspeed"]),
        (
            {"mpi": {"command": ["/app/train", "--fast"], "launcher_args": ["--map-by", "node"]}},
            ["--map-by", "node", "python3", f"{MOUNT}/probe_mpi.py"],
        ),
        (
            {"tensorflow": {"command": ["/opt/conda/bin/python", "/app/train.py"]}},
            ["/opt/conda/bin/python", f"{MOUNT}/probe_tensorflow.py"],
        ),
        (
            {"jax": {"command": ["/opt/venv/bin/python3.12", "train.py"]}},
            ["/opt/venv/bin/python3.12", f"{MOUNT}/probe_jax.py"],
        ),
        ({"entrypoint": ["--model", "7b"]}, ["python3", f"{MOUNT}/probe_torch.py", "--with", "torch"]),
        ({"command": ["bash", "train.sh"]}, ["python3", f"{MOUNT}/probe_torch.py", "--with", "torch"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_probe_stands_where_the_script_stood(launcher: dict[str, Any], words: list[str]) -> None:
    assert list(probe_args(Launcher.model_validate(launcher))) == words


def test_the_watch_comes_before_the_launch_script() -> None:
    """torchrun's agents meet before any script starts, so the watch runs the launch script, which stays as it is."""
    launcher = {"torchrun": SCRIPT}
    before = workload_of_plan(plan(launcher=launcher, roles=MIXED)).pods[1]["spec"]["containers"][0]
    pod = with_probe(30, launcher=launcher, roles=MIXED)[1].pods[1]
    main = pod["spec"]["containers"][0]
    assert main["command"] == ["python3", f"{MOUNT}/probe_watch.py", *before["command"]]
    assert main["args"] == ["--tee", "3", f"{MOUNT}/probe_torch.py", "--with", "torch"]
    variables = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert variables["TRAINFORM_EXPECT_NAME"] == pod["metadata"]["name"]
    assert variables["TRAINFORM_PROBE_TIMEOUT"] == "30"
    assert variables["TRAINFORM_EXPECT_NODES"] == "3"
    assert {"name": CONFIG_MAP, "mountPath": MOUNT, "readOnly": True} in main["volumeMounts"]
    assert {"name": CONFIG_MAP, "configMap": {"name": CONFIG_MAP}} in pod["spec"]["volumes"]


def test_a_pod_that_serves_ssh_keeps_its_command() -> None:
    """mpirun starts the probe there, which needs the program and its expectations."""
    parts: dict[str, Any] = {"launcher": {"mpi": {"command": ["/app/train"]}}, "roles": MIXED}
    first, second, _ = (pod["spec"]["containers"][0] for pod in with_probe(**parts)[1].pods)
    unchanged = workload_of_plan(plan(**parts)).pods[1]["spec"]["containers"][0]
    assert first["args"] == ["python3", f"{MOUNT}/probe_mpi.py"]
    assert (second["command"], second.get("args")) == (unchanged["command"], unchanged.get("args"))
    assert any(entry["name"] == "TRAINFORM_EXPECT_SLOTS" for entry in second["env"])
    assert any(mount["mountPath"] == MOUNT for mount in second["volumeMounts"])


def test_a_role_with_a_command_of_its_own_cannot_be_probed() -> None:
    roles = {"worker": {"replicas": 2}, "reader": {"replicas": 1, "command": ["python", "/app/read.py"]}}
    with pytest.raises(InputError, match="is not started by the launcher") as refused:
        check_probe(plan(launcher={"torchrun": SCRIPT}, roles=roles))
    assert [problem.path for problem in refused.value.problems] == ["roles.reader.command"]
    check_probe(plan(roles=roles))
    assert with_probe(roles=roles)[1].pods[2]["spec"]["containers"][0]["args"][1] == f"{MOUNT}/probe_torch.py"
