"""The variables that each launcher gets, by role, where no teaching experiment shows them, and that extras have none of
them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import env, experiment, layout_of, plan
from trainform.spec.launchers import LAUNCHERS

SCRIPT = {"script": "/app/train.py"}
WATCHER: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
EIGHT: dict[str, Any] = {"accelerators": {"a800": 8}}
ROLES: dict[str, Any] = {"master": EIGHT, "worker": {"replicas": 3, **EIGHT}, "watcher": WATCHER}
APART: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 3, **EIGHT}, "watcher": WATCHER}
WAIT = {"TRAINFORM_WAIT_SECONDS": "600"}


def of(launcher: dict[str, Any], role: str, **parts: Any) -> dict[str, Any]:
    """What the plan itself says to the role, without the operator's part; the job's name is `JOB`."""
    made = plan(**{"roles": ROLES, **parts}, launcher=launcher)
    found = next(planned for planned in made.roles if planned.name == role)
    return {variable.name: str(variable.value).replace(made.job, "JOB") for variable in found.env}


MASTER = {"MASTER_ADDR": "JOB-master-0.sdxl-lora", "MASTER_PORT": "29500"}
PROCESSES = {"NUM_PROCESSES": "32", "NPROC_PER_NODE": "8"}
STATIC = {**MASTER, "WORLD_SIZE": "4", **PROCESSES, **WAIT}


def test_accelerate_and_commands() -> None:
    for launcher, more in (({"accelerate": SCRIPT}, {"RDZV_BACKEND": "static"}), ({"command": ["python"]}, {})):
        assert of(launcher, "worker") == {**STATIC, "TRAINFORM_RANK_OFFSET": "1", **more}
    assert of({"accelerate": {**SCRIPT, "rdzv_backend": "c10d"}}, "worker")["RDZV_BACKEND"] == "c10d"


def test_tensorflow() -> None:
    launcher = {"tensorflow": {"command": ["python"], "task_types": {"master": "chief"}}}
    assert of(launcher, "master") == {"TRAINFORM_TASK_TYPE": "chief", **WAIT}
    behind = of(launcher, "worker", network={"host": True, "addresses": "service"})
    assert behind == {"TRAINFORM_TASK_TYPE": "worker", "TRAINFORM_SERVICE": "sdxl-lora-worker", **WAIT}


def test_jax() -> None:
    """One process drives all accelerators of its pod."""
    jax = {"JAX_NUM_PROCESSES": "4", "TRAINFORM_RANK_OFFSET": "1"}
    assert of({"jax": {"command": ["python"]}}, "worker") == {**MASTER, **jax, **WAIT}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_extras_get_the_users_alone(launcher: str) -> None:
    words: dict[str, Any] = {
        "deepspeed": SCRIPT, "torchrun": SCRIPT, "accelerate": SCRIPT, "mpi": {"command": ["python"]},
        "command": ["python"], "jax": {"command": ["python"]}, "entrypoint": [],
        "tensorflow": {"command": ["python"], "task_types": {"master": "chief"}},
    }  # fmt: skip
    roles = {"worker": EIGHT, "watcher": WATCHER} if launcher == "entrypoint" else ROLES
    given = of({launcher: words[launcher]}, "watcher", env={"NCCL_DEBUG": "INFO"}, roles=roles)
    assert given == {"NCCL_DEBUG": "INFO"}
    made = plan(launcher={launcher: words[launcher]}, roles=roles)
    assert env(made, "watcher").keys() == {"VC_TASK_INDEX"}


def test_variables_of_an_unranked_launcher() -> None:
    found = of({"mpi": {"command": ["python"], "role": "launcher"}}, "launcher", roles=APART)
    assert found.items() >= {"NUM_PROCESSES": "24", "MASTER_ADDR": "JOB-worker-0.sdxl-lora", **WAIT}.items()
    layout = layout_of(experiment(launcher={"mpi": {"command": ["python"], "role": "launcher"}}, roles=APART))
    assert [role in layout.launched for role in APART] == [True, True, False]


def test_values_that_are_not_written_here() -> None:
    made = plan(
        env={
            "WANDB_API_KEY": {"secret": {"name": "wandb.team", "key": "api-key"}},
            "DATASET": {"config_map": {"name": "datasets", "key": "current"}},
            "POD_IP": {"field": "status.podIP"},
            "TEAM": {"field": "metadata.labels['example.com/team']"},
            "EMPTY": "",
        }
    )
    variables = env(made, "worker")
    assert variables["WANDB_API_KEY"] == {"secretKeyRef": {"name": "wandb.team", "key": "api-key"}}
    assert variables["DATASET"] == {"configMapKeyRef": {"name": "datasets", "key": "current"}}
    assert variables["POD_IP"] == {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    assert variables["TEAM"] == {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['example.com/team']"}}
    assert variables["EMPTY"] == ""
