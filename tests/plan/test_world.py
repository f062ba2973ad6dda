"""Who is in the world, who launches, who has SSH, and whose end is the job's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, experiment, plan, reasons
from trainform.plan.world import (
    first_ranked,
    has_tf_config,
    in_world,
    launching_role,
    plan_world,
    rank_offsets,
    ssh_roles,
    task_type,
)

WATCHER = {"ranked": False, "command": ["python", "watch.py"]}
MPI: dict[str, Any] = {"mpi": {"command": ["python"]}}
APART: dict[str, Any] = {"mpi": {"command": ["python"], "role": "launcher"}}
TENSORFLOW: dict[str, Any] = {"tensorflow": {"command": ["python"]}}
ROLES: dict[str, Any] = {"watcher": WATCHER, "master": {}, "worker": {"replicas": 3}, "helper": {"replicas": 2}}
WITH_LAUNCHER: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 3}, "watcher": WATCHER}
TF_ROLES: dict[str, Any] = {
    "ps": {"replicas": 2},
    "evaluator": {},
    "worker": {"replicas": 3},
    "chief": {},
    "watcher": WATCHER,
}


def test_ranks_are_numbered_over_the_ranked_roles() -> None:
    made = experiment(roles=ROLES)
    assert first_ranked(made) == "master"
    assert [rank_offsets(made)[name] for name in ("master", "worker", "helper")] == [0, 1, 4]
    assert [in_world(made, name) for name in ROLES] == [False, True, True, True]


def test_the_evaluator_is_not_in_the_world() -> None:
    made = experiment(launcher=TENSORFLOW, roles=TF_ROLES)
    assert (plan_world(made).nodes, plan_world(made).processes) == (6, 6)
    assert [name for name in TF_ROLES if in_world(made, name)] == ["ps", "worker", "chief"]
    assert [rank_offsets(made)[name] for name in ("ps", "worker", "chief")] == [0, 2, 5]
    planned = plan(launcher=TENSORFLOW, roles=TF_ROLES)
    assert [(role.name, role.rank_offset) for role in planned.roles] == [
        ("ps", 0), ("evaluator", None), ("worker", 2), ("chief", 5), ("watcher", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("roles", "needed"),
    [
        ({"worker": {}}, False),
        ({"chief": {}}, False),
        ({"worker": {"replicas": 2}}, True),
        ({"worker": {}, "evaluator": {}}, True),
        ({"worker": {}, "watcher": {**WATCHER, "replicas": 4}}, False),
    ],
)
def test_who_needs_tf_config(roles: dict[str, Any], needed: bool) -> None:
    assert has_tf_config(experiment(launcher=TENSORFLOW, roles=roles)) is needed
    assert not has_tf_config(experiment(roles=WITH_EXTRAS))


def test_task_types() -> None:
    said = {"tensorflow": {"command": ["python"], "task_types": {"gpu-worker": "worker", "ps": "chief"}}}
    made = experiment(launcher=said, roles={"gpu-worker": {}, "ps": {}, "sidekick": {}, "watcher": WATCHER})
    assert [task_type(made, name) for name in made.roles] == ["worker", "chief", None, None]
    assert task_type(experiment(roles={"worker": {}}), "worker") is None, "another launcher has none"


def test_a_tensorflow_process_drives_all_accelerators_of_its_pod() -> None:
    made = experiment(launcher=TENSORFLOW, roles={"worker": {"replicas": 2, "accelerators": {"a800": 8}}})
    assert plan_world(made).processes == 2


def test_who_launches() -> None:
    assert launching_role(experiment(launcher=MPI, roles=ROLES)) == "master"
    assert launching_role(experiment(launcher=APART, roles=WITH_LAUNCHER)) == "launcher"
    assert launching_role(experiment(launcher={"deepspeed": {"script": "/app/train.py"}}, roles=ROLES)) == "master"
    assert launching_role(experiment(roles=ROLES)) is None
    assert launching_role(experiment(launcher=TENSORFLOW, roles=TF_ROLES)) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"roles": ROLES}, ()),
        ({"roles": ROLES, "ssh": {}}, ("master", "worker", "helper")),
        ({"roles": ROLES, "ssh": {"roles": ["watcher", "worker", "nobody"]}}, ("watcher", "worker")),
        ({"roles": ROLES, "launcher": MPI}, ("master", "worker", "helper")),
        ({"roles": WITH_LAUNCHER, "launcher": APART}, ("launcher", "worker")),
        ({"roles": WITH_LAUNCHER, "launcher": APART, "ssh": {"rotation": 2}}, ("launcher", "worker")),
    ],
)
def test_who_has_ssh(parts: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert ssh_roles(experiment(**parts)) == expected


@pytest.mark.parametrize(
    ("roles", "types", "found"),
    [
        ({"ps": {}, "worker": {}}, {}, {}),
        ({"trainer": {}}, {"trainer": "worker"}, {}),
        (
            {"worker": {}, "watcher": WATCHER},
            {"watcher": "ps"},
            {"launcher.tensorflow.task_types.watcher": "the experiment has no ranked role of this name"},
        ),
        (
            {"worker": {}, "more": {}},
            {"more": "worker"},
            {"roles.more": "the role has the task type worker, as worker has"},
        ),
        (
            {"chief": {"replicas": 2}, "worker": {}},
            {},
            {"roles.chief.replicas": "the number must be 1: TensorFlow has one chief"},
        ),
        ({"ps": {"replicas": 2}}, {}, {"roles": "the roles have neither a chief nor a worker, so nothing trains"}),
        ({"evaluator": {}}, {}, {"roles": "the roles have neither a chief nor a worker, so nothing trains"}),
    ],
)
def test_rules_of_task_types(roles: dict[str, Any], types: dict[str, str], found: dict[str, str]) -> None:
    """tests/spec/bad/task-types has the others."""
    launcher = {"tensorflow": {"command": ["python"], "task_types": types}}
    assert reasons(launcher=launcher, roles=roles) == found


USER = {"user": 1000, "home": "/home/trainer"}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"ssh": {"roles": ["worker"]}}, {}),
        ({"ssh": {"roles": ["master", "worker", "helper", "watcher"]}, "launcher": MPI}, {}),
        ({"run_as": {"user": 1000}}, {}),
        (
            {"ssh": {}, "run_as": {"user": 1000, "home": "/root/"}},
            {"run_as.home": "the folder is not the home of user 1000, where SSH looks for its files"},
        ),
        ({"ssh": {}, "run_as": USER}, {}),
        ({"ssh": {"port": 1024}, "run_as": USER}, {}),
        ({"ssh": {"port": 22}, "run_as": {"user": 0}}, {}),
    ],
)
def test_rules_of_ssh(parts: dict[str, Any], found: dict[str, str]) -> None:
    """tests/spec/bad/ssh-of-a-user has the others."""
    assert reasons(**{"roles": ROLES, **parts}) == found


def test_the_launching_role_needs_ssh_too() -> None:
    found = reasons(launcher=APART, roles=WITH_LAUNCHER, ssh={"roles": ["worker"]})
    assert found == {"ssh.roles": "the roles leave out launcher, which mpi needs"}
