"""What a launcher over SSH requires of roles, lists of hosts that are too long, and roles that do not exist."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.rendering import job_problems
from tests.support.samples import JOB, environment, experiment, reasons
from trainform import defaults
from trainform.job.check import check_experiment
from trainform.spec.load import Text

MPI = {"command": ["python", "/app/train.py"]}
LAUNCHING = {"ranked": False, "command": ["sleep", "infinity"]}
BARE = {"ranked": False}


def fixes(launcher: dict[str, Any], roles: dict[str, Any]) -> dict[str, str]:
    found = job_problems(experiment(launcher={"mpi": {**MPI, **launcher}}, roles=roles), environment())
    return {problem.path: problem.fix for problem in found}


RENAME = "give the role launcher another name"


def test_each_advice_leads_on() -> None:
    """A launcher role as other operators have it: it is named, then its command goes, and the job is accepted."""
    workers = {"worker": {"replicas": 2}}
    named = f"write `role: launcher` in `launcher.mpi`, or {RENAME}"
    assert fixes({}, {**workers, "launcher": LAUNCHING}) == {"roles.launcher": named}
    assert fixes({}, {**workers, "head": LAUNCHING}) == {}
    assert fixes({"role": "launcher"}, {**workers, "launcher": LAUNCHING}) == {"roles.launcher.command": "remove it"}
    assert fixes({"role": "launcher"}, {**workers, "launcher": BARE}) == {}


@pytest.mark.parametrize(
    ("launcher", "roles", "fix"),
    [
        ({}, {"launcher": {"replicas": 4}}, RENAME),
        ({"role": "launcher"}, {"launcher": {**BARE, "replicas": 2}, "worker": {}}, "write 1"),
        ({}, {"worker": {"replicas": 2}, "launcher": {**LAUNCHING, "replicas": 2}}, RENAME),
    ],
)
def test_a_role_that_cannot_launch(launcher: dict[str, Any], roles: dict[str, Any], fix: str) -> None:
    assert [*fixes(launcher, roles).values()] == [fix]


def test_the_command_of_a_role_that_computes() -> None:
    both = "remove it, or make the role `ranked: false`"
    roles: dict[str, dict[str, Any]] = {
        "master": {"replicas": 1},
        "worker": {"replicas": 2, "command": ["python", "serve.py"]},
    }
    assert fixes({}, roles) == {"roles.worker.command": both}
    assert fixes({}, {**roles, "worker": {"replicas": 2}}) == {}
    assert fixes({}, {**roles, "worker": {**roles["worker"], "ranked": False}}) == {}
    assert fixes({}, {**roles, "master": {"replicas": 1, "command": ["python"]}}) == {
        "roles.master.command": "remove it",
        "roles.worker.command": both,
    }


def test_the_variables_of_volcanos_plugin() -> None:
    """Every container gets the hosts of every role; other operators have no such list."""
    assert reasons(roles={"worker": {"replicas": 3_000}}) == {}
    found = reasons(roles={"worker": {"replicas": 4_000}})
    assert found.keys() == {"roles.worker.replicas"}
    assert "in VC_WORKER_HOSTS, which are 1" in found["roles.worker.replicas"]
    assert reasons(roles={"worker": {"replicas": 4_000}}, backend="jobset") == {}


def test_the_config_map_of_volcanos_plugin() -> None:
    """It has the hosts of all roles twice: each list fits into a variable, and together they are too many."""
    launcher = {"command": ["python", "/app/train.py"]}
    extras = {
        name: {"replicas": 3_000, "ranked": False, "command": ["python", "watch.py"]}
        for name in ("extra-a", "extra-b", "extra-c", "extra-d")
    }
    found = reasons(roles={"worker": {"replicas": 3_000}, **extras}, launcher=launcher)
    assert found.keys() == {"roles"}
    assert "addresses of all pods twice into one ConfigMap, which are 1" in found["roles"]


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
