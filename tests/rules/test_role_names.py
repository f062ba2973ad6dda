"""Fields that name a role which is not there, by a typo or since an environment takes it away: a problem of that field,
whatever else is read."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.samples import JOB, environment
from trainform import defaults
from trainform.job.check import check_experiment
from trainform.spec.load import Text

COMMAND = ["python", "/app/train.py"]
OVER_SSH: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 2}}
TASKS: dict[str, Any] = {"chief": {}, "worker": {"replicas": 2}}
NODES: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}
LAUNCHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mpi": ({"command": COMMAND, "role": "launcher"}, OVER_SSH),
    "deepspeed": ({"script": "/app/train.py", "role": "launcher"}, OVER_SSH),
    "tensorflow": ({"command": COMMAND, "task_types": {"worker": "worker"}}, TASKS),
    "torchrun": ({"script": "/app/train.py"}, NODES),
    "accelerate": ({"script": "/app/train.py"}, NODES),
}
# what reads the names: claims that pods share, steps before the start, keys of SSH
AROUND: dict[str, Any] = {
    "storage": {"data": {"claim": "datasets", "mount": "/data", "roles": ["worker"]}},
    "prepare": [{"name": "fetch", "command": ["fetch"], "roles": ["worker"]}],
    "ssh": {"roles": ["worker"]},
}
FIELDS = ("storage.data.roles[0]", "prepare[0].roles[0]", "ssh.roles[0]")


def wrong(kind: str, fields: dict[str, Any], roles: dict[str, Any], **parts: Any) -> dict[str, tuple[str, str]]:
    """Reason and fix of every problem."""
    data = {**JOB, "launcher": {kind: fields}, "roles": roles, **AROUND, **parts}
    found = check_experiment(Text("mine", yaml.safe_dump(data, sort_keys=False)), environment()).problems
    return {problem.path: (problem.reason, problem.fix) for problem in found}


def own_field(kind: str) -> list[str]:
    """The launcher's own field with the name."""
    return {"tensorflow": ["launcher.tensorflow.task_types.worker"]}.get(kind, [])


@pytest.mark.parametrize("backend", defaults.BACKENDS)
@pytest.mark.parametrize("kind", LAUNCHERS)
def test_a_role_that_is_gone(kind: str, backend: str) -> None:
    fields, roles = LAUNCHERS[kind]
    for field in ("roles", "environments"):
        parts: dict[str, Any] = {"backend": backend}
        left = {name: role for name, role in roles.items() if name != "worker"} | {"node": {"replicas": 2}}
        if field == "environments":
            left, parts["environments"] = roles, {"dev": {"roles": {"worker": None, "node": {"replicas": 2}}}}
        found = wrong(kind, fields, left, **parts)
        for path in (*FIELDS, *own_field(kind)):
            reason, fix = found[path]
            assert "has no" in reason, path
            assert "node" in fix, path


@pytest.mark.parametrize("backend", defaults.BACKENDS)
@pytest.mark.parametrize("kind", ["mpi", "deepspeed"])
def test_a_role_that_launches_and_is_gone(kind: str, backend: str) -> None:
    fields, roles = LAUNCHERS[kind]
    path = f"launcher.{kind}.role"
    told = "the experiment has no role of this name"
    storage = {"data": {"claim": "datasets", "mount": "/data"}}
    prepare = [{"name": "fetch", "command": ["fetch"]}]
    parts: dict[str, Any] = {"backend": backend, "storage": storage, "prepare": prepare, "ssh": {}}
    found = wrong(kind, {**fields, "role": "luancher"}, roles, **parts)
    assert found[path] == (told, "known: launcher, worker")
    assert "roles.launcher.command" not in found  # it may be the role that was meant
    gone = {"environments": {"dev": {"roles": {"launcher": None}}}}
    assert wrong(kind, fields, roles, **parts, **gone)[path] == (told, "known: worker")
