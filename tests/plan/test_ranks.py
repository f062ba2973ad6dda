"""Ranks and world size: on ranked roles alone, and a value of the user's wins everywhere."""

from __future__ import annotations

import pytest

from tests.support.samples import WITH_EXTRAS, env, plan
from trainform.plan.export import as_data

ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}


def test_ranks_follow_the_order_of_roles() -> None:
    roles = {
        "watcher": WITH_EXTRAS["evaluation-watcher"],
        "worker": WITH_EXTRAS["worker"],
        "chief-worker": {"replicas": 1},
    }
    made = plan(roles=roles)
    assert made.rendezvous.address == f"{made.job}-worker-0.sdxl-lora"
    assert [role.rank_offset for role in made.roles] == [None, 0, 3]
    assert env(made, "chief-worker")["TRAINFORM_RANK_OFFSET"] == "3"


@pytest.mark.parametrize(
    ("accelerators", "said", "expected"),
    [({}, None, "1"), ({"a800": 0}, None, "1"), ({"l40s": 4}, None, "4"), ({"a800": 8}, 2, "2")],
)
def test_processes_per_node(accelerators: dict[str, int], said: int | None, expected: str) -> None:
    launcher = {"torchrun": {"script": "/app/train.py", **({} if said is None else {"processes_per_node": said})}}
    made = plan(launcher=launcher, roles={"worker": {"replicas": 2, "accelerators": accelerators}})
    assert env(made, "worker")["NPROC_PER_NODE"] == expected
    assert made.world.processes == 2 * int(expected)


def test_torchrun_assigns_the_ranks_of_an_elastic_world() -> None:
    made = plan(launcher=ELASTIC, roles={"worker": {"replicas": 4}})
    assert {pod.rank for pod in made.pods()} == {None}
    assert as_data(made)["pods"][3]["rank"] is None


def test_origins() -> None:
    made = plan(env={"NCCL_DEBUG": "INFO"}, roles={"worker": {"env": {"POD_IP": {"field": "status.podIP"}}}})
    origins = {variable.name: variable.origin for variable in made.roles[0].env}
    assert origins["NCCL_DEBUG"] == "env.NCCL_DEBUG"
    assert origins["POD_IP"] == "roles.worker.env.POD_IP"
    assert origins["WORLD_SIZE"] == "launcher.command"


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
