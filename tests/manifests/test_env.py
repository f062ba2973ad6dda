"""The variables of containers that no plan can hold: index, own ports, and what an operator would overwrite."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import container, env, job, plan, pod
from trainform.manifests.env import Operator, container_env, kept_words, override_env
from trainform.plan.model import Group

LABEL = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['volcano.sh/task-index']"}}
ROLES: dict[str, Any] = {"worker": {"replicas": 2}, "watcher": {"ranked": False, "command": ["python", "watch.py"]}}
PER_REPLICA = {"host": True, "ports": "per-replica"}


def task(network: dict[str, Any], name: str) -> dict[str, Any]:
    """Variables of the task's main container."""
    found = next(
        task for task in job(plan(roles=ROLES, network=network, ssh={}))["spec"]["tasks"] if task["name"] == name
    )
    entries = found["template"]["spec"]["containers"][0]["env"]
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry.get("valueFrom", entry.get("value")) for entry in entries}


def test_the_index_comes_from_the_operators_label() -> None:
    found = task({}, "worker")
    assert found["TRAINFORM_REPLICA_INDEX"] == found["VC_TASK_INDEX"] == LABEL
    extra = task({}, "watcher")
    assert extra == {"VC_TASK_INDEX": LABEL}, "an extra has no rank to compute"


def test_a_replica_with_a_template_of_its_own_has_it_as_text() -> None:
    """The operator counts in the task, and there is one pod in it."""
    for index in (0, 1):
        found = task(PER_REPLICA, f"worker-{index}")
        assert found["TRAINFORM_REPLICA_INDEX"] == found["VC_TASK_INDEX"] == str(index)
    assert task(PER_REPLICA, "watcher")["VC_TASK_INDEX"] == LABEL


def test_what_a_pod_opens_itself() -> None:
    made = plan(roles=ROLES, network=PER_REPLICA, ssh={})
    for index, ports in enumerate(made.roles[0].ports):
        found = task(PER_REPLICA, f"worker-{index}")
        said = {
            name: value for name, value in found.items() if name.endswith("_PORT") and name.startswith("TRAINFORM_")
        }
        assert said == {f"TRAINFORM_{port.name.upper()}_PORT": str(port.number) for port in ports}
    assert "TRAINFORM_RENDEZVOUS_PORT" not in task(PER_REPLICA, "worker-1")
    assert not [name for name in task({}, "watcher") if name.startswith("TRAINFORM_")]


def of(role: str, operator: Operator, **parts: Any) -> list[dict[str, Any]]:
    made = plan(roles=ROLES, **parts)
    found = next(planned for planned in made.roles if planned.name == role)
    group: Group = next(found.groups())
    return container_env(found, group, operator)


def test_an_operator_with_a_label_only() -> None:
    found = of("watcher", Operator("batch.kubernetes.io/job-completion-index"), env={"VC_WORKER_NUM": "7"})
    assert found == [{"name": "VC_WORKER_NUM", "value": "7"}]
    assert kept_words(["VC_WORKER_NUM"], Operator("batch.kubernetes.io/job-completion-index")) == []


def test_a_value_that_the_operator_would_overwrite_is_kept_under_another_name() -> None:
    operator = Operator("x", appended=frozenset({"VC_WORKER_NUM", "VC_OTHER_NUM"}))
    found = of("watcher", operator, env={"VC_WORKER_NUM": "7", "NCCL_DEBUG": "INFO"})
    assert found == [{"name": "TRAINFORM_KEPT_VC_WORKER_NUM", "value": "7"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    assert kept_words(["NCCL_DEBUG", "VC_WORKER_NUM", "VC_WORKER_NUM"], operator) == [
        "env",
        "VC_WORKER_NUM=$(TRAINFORM_KEPT_VC_WORKER_NUM)",
    ]


def test_the_command_sets_it_again() -> None:
    made = plan(roles=ROLES, env={"VC_WORKER_HOSTS": "a,b", "VC_WATCHER_NUM": ""})
    words = [
        "env",
        "VC_WORKER_HOSTS=$(TRAINFORM_KEPT_VC_WORKER_HOSTS)",
        "VC_WATCHER_NUM=$(TRAINFORM_KEPT_VC_WATCHER_NUM)",
    ]
    assert container(made, "worker")["command"] == [*words, "/bin/sh", "/etc/trainform/launch.sh"]
    assert container(made, "watcher")["command"] == [*words, "python", "watch.py"]
    assert env(made, "worker")["TRAINFORM_KEPT_VC_WATCHER_NUM"] == ""
    assert "VC_WORKER_HOSTS" not in env(made, "worker")
    assert container(plan(roles=ROLES, env={"VC_TASK_INDEX": "7"}), "worker")["command"][0] == "/bin/sh", (
        "nobody appends this one"
    )


@pytest.mark.parametrize("name", ["VC_TASK_INDEX", "NCCL_DEBUG"])
def test_the_users_index_wins(name: str) -> None:
    assert env(plan(roles=ROLES, env={name: "7"}), "watcher")[name] == "7"


def test_init_containers_keep_the_users_value_too() -> None:
    """Volcano appends its own to them as well."""
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


def test_an_init_containers_own_variables() -> None:
    entries = [{"name": "WORLD_SIZE", "value": "4"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    assert override_env(entries, {"WORLD_SIZE": "1", "EMPTY": ""}, Operator("x")) == [
        entries[1],
        {"name": "WORLD_SIZE", "value": "1"},
        {"name": "EMPTY"},
    ]
