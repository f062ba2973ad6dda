"""Variables that depend on the operator: the index, a pod's own ports, and variables that the operator overwrites."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import container, env, job, plan, pod
from trainform.manifests.env import PodConventions, Variable, container_env, env_prefix, override_env
from trainform.plan.model import Group
from trainform.plan.variables import expanded

LABEL = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['volcano.sh/task-index']"}}
ROLES: dict[str, Any] = {"worker": {"replicas": 2}, "watcher": {"ranked": False, "command": ["python", "watch.py"]}}
PER_REPLICA = {"host": True, "ports": "per-replica"}


def task_env(network: dict[str, Any], name: str) -> dict[str, Any]:
    """The variables of the task's main container."""
    found = next(
        task for task in job(plan(roles=ROLES, network=network, ssh={}))["spec"]["tasks"] if task["name"] == name
    )
    entries = found["template"]["spec"]["containers"][0]["env"]
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry.get("valueFrom", entry.get("value")) for entry in entries}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(MASTER_ADDR):$(MASTER_PORT)", "resnet-0.resnet:29500"),
        ("$$(MASTER_PORT)", "$(MASTER_PORT)"),
        ("$$$(MASTER_PORT)", "$29500"),
        ("$(UNKNOWN) $MASTER_PORT ${MASTER_PORT}", "$(UNKNOWN) $MASTER_PORT ${MASTER_PORT}"),
        ("$(MASTER_PORT", "$(MASTER_PORT"),
        ("$(MASTER_$(MASTER_PORT)", "$(MASTER_$(MASTER_PORT)"),
        ("cost: 5$", "cost: 5$"),
        ("$()", "$()"),
        ("", ""),
    ],
)
def test_references_in_text_are_expanded(text: str, expected: str) -> None:
    assert expanded(text, {"MASTER_ADDR": "resnet-0.resnet", "MASTER_PORT": "29500"}) == expected


def test_the_index_comes_from_the_operators_label() -> None:
    found = task_env({}, "worker")
    assert found["TRAINFORM_REPLICA_INDEX"] == found["VC_TASK_INDEX"] == LABEL
    extra = task_env({}, "watcher")
    assert extra == {"VC_TASK_INDEX": LABEL}, "a pod of an unranked role has no rank to compute"


def test_the_index_is_text_in_the_template_of_one_replica() -> None:
    """The operator counts within a task, and such a task has one pod."""
    for index in (0, 1):
        found = task_env(PER_REPLICA, f"worker-{index}")
        assert found["TRAINFORM_REPLICA_INDEX"] == found["VC_TASK_INDEX"] == str(index)
    assert task_env(PER_REPLICA, "watcher")["VC_TASK_INDEX"] == LABEL


def test_each_replica_has_its_own_ports_in_variables() -> None:
    made = plan(roles=ROLES, network=PER_REPLICA, ssh={})
    for index, ports in enumerate(made.roles[0].ports):
        found = task_env(PER_REPLICA, f"worker-{index}")
        own_ports = {
            name: value for name, value in found.items() if name.endswith("_PORT") and name.startswith("TRAINFORM_")
        }
        assert own_ports == {f"TRAINFORM_{port.name.upper()}_PORT": str(port.number) for port in ports}
    assert "TRAINFORM_RENDEZVOUS_PORT" not in task_env(PER_REPLICA, "worker-1")
    assert not [name for name in task_env({}, "watcher") if name.startswith("TRAINFORM_")]


def env_of_role(name: str, conventions: PodConventions, **parts: Any) -> list[Variable]:
    role = plan(roles=ROLES, **parts).by_name[name]
    group: Group = next(role.groups())
    return container_env(role, group, conventions)


def test_a_value_that_the_operator_would_overwrite_is_kept_under_another_name() -> None:
    conventions = PodConventions("x", appended=frozenset({"VC_WORKER_NUM", "VC_OTHER_NUM"}))
    found = env_of_role("watcher", conventions, env={"VC_WORKER_NUM": "7", "NCCL_DEBUG": "INFO"})
    assert found == [{"name": "TRAINFORM_KEPT_VC_WORKER_NUM", "value": "7"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    assert env_prefix(["NCCL_DEBUG", "VC_WORKER_NUM", "VC_WORKER_NUM"], conventions) == [
        "env",
        "VC_WORKER_NUM=$(TRAINFORM_KEPT_VC_WORKER_NUM)",
    ]


def test_the_command_restores_the_overwritten_values() -> None:
    made = plan(roles=ROLES, env={"VC_WORKER_HOSTS": "a,b", "VC_WATCHER_NUM": ""})
    words = [
        "env",
        "VC_WORKER_HOSTS=$(TRAINFORM_KEPT_VC_WORKER_HOSTS)",
        "VC_WATCHER_NUM=$(TRAINFORM_KEPT_VC_WATCHER_NUM)",
    ]
    assert container(made, "worker")["command"] == [
        *words,
        "/bin/sh",
        "/etc/trainform/run.sh",
        "/bin/sh",
        "/etc/trainform/launch.sh",
    ]
    assert container(made, "watcher")["command"] == [*words, "python", "watch.py"]
    assert env(made, "worker")["TRAINFORM_KEPT_VC_WATCHER_NUM"] == ""
    assert "VC_WORKER_HOSTS" not in env(made, "worker")
    assert container(plan(roles=ROLES, env={"VC_TASK_INDEX": "7"}), "worker")["command"][0] == "/bin/sh", (
        "Volcano does not append this variable"
    )


@pytest.mark.parametrize("name", ["VC_TASK_INDEX", "NCCL_DEBUG"])
def test_the_users_index_wins(name: str) -> None:
    assert env(plan(roles=ROLES, env={name: "7"}), "watcher")[name] == "7"


def test_init_containers_keep_the_users_value_too() -> None:
    """Volcano appends its variables to init containers too."""
    roles = {
        "worker": {
            "init": [
                {"name": "fetch", "command": ["fetch"], "env": {"VC_WORKER_NUM": "9"}},
                {"name": "warm", "command": ["warm"]},
            ]
        }
    }
    made = plan(roles=roles, env={"VC_WORKER_NUM": "7"})
    fetch, warm = pod(made, "worker")["spec"]["initContainers"]
    for init, value in ((fetch, "9"), (warm, "7")):
        assert init["command"][:2] == ["env", "VC_WORKER_NUM=$(TRAINFORM_KEPT_VC_WORKER_NUM)"]
        assert {"name": "TRAINFORM_KEPT_VC_WORKER_NUM", "value": value} in init["env"]
        assert "VC_WORKER_NUM" not in {entry["name"] for entry in init["env"]}


def test_an_init_containers_own_variables_replace_the_main_containers() -> None:
    entries: list[Variable] = [{"name": "WORLD_SIZE", "value": "4"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    assert override_env(entries, {"WORLD_SIZE": "1", "EMPTY": ""}, PodConventions("x")) == [
        entries[1],
        {"name": "WORLD_SIZE", "value": "1"},
        {"name": "EMPTY"},
    ]
