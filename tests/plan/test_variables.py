"""The variables that each launcher gets, by role, where no teaching experiment shows them, and that extras have none of
them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import env, experiment, layout_of, plan
from trainform.plan.variables import VARIABLES, role_env
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


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_extras_get_the_users_alone(launcher: str) -> None:
    words: dict[str, Any] = {
        "deepspeed": SCRIPT, "torchrun": SCRIPT, "accelerate": SCRIPT, "mpi": {"command": ["python"]},
        "command": ["python"],
        "tensorflow": {"command": ["python"], "task_types": {"master": "chief"}},
    }  # fmt: skip
    assert of({launcher: words[launcher]}, "watcher", env={"NCCL_DEBUG": "INFO"}) == {"NCCL_DEBUG": "INFO"}
    made = plan(launcher={launcher: words[launcher]}, roles=ROLES)
    assert env(made, "watcher").keys() == {"VC_TASK_INDEX"}


def test_variables_of_an_unranked_launcher() -> None:
    found = of({"mpi": {"command": ["python"], "role": "launcher"}}, "launcher", roles=APART)
    assert found.items() >= {"NUM_PROCESSES": "24", "MASTER_ADDR": "JOB-worker-0.sdxl-lora", **WAIT}.items()
    layout = layout_of(experiment(launcher={"mpi": {"command": ["python"], "role": "launcher"}}, roles=APART))
    assert [role in layout.launched for role in APART] == [True, True, False]


@pytest.mark.parametrize(("wait", "seconds"), [("90s", "90"), ("1h30m", "5400"), ("0s", "0")])
def test_waiting_in_seconds(wait: str, seconds: str) -> None:
    assert of({"command": ["python"]}, "worker", network={"wait": wait})["TRAINFORM_WAIT_SECONDS"] == seconds


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_variable_has_a_text_and_is_listed_once(launcher: str) -> None:
    variables = VARIABLES[launcher]
    assert all(variable.text and not variable.text.endswith(".") for variable in variables)
    assert len({variable.name for variable in variables}) == len(variables)


def test_every_variable_of_a_role_is_set_once() -> None:
    made = experiment(roles=ROLES, env={"WORLD_SIZE": "1", "NCCL_DEBUG": "INFO"})
    found = role_env(layout_of(made), "worker")
    assert len({variable.name for variable in found}) == len(found)
    origins = {variable.name: variable.origin for variable in found}
    assert (origins["WORLD_SIZE"], origins["RANK" if "RANK" in origins else "MASTER_ADDR"]) == (
        "env.WORLD_SIZE",
        "launcher.command",
    )
