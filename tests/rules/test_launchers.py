"""What a launcher over SSH asks of roles, and what is said to write instead."""

from __future__ import annotations

from typing import Any

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment

MPI = {"command": ["python", "/app/train.py"]}
LAUNCHING = {"ranked": False, "command": ["sleep", "infinity"]}


def fixes(launcher: dict[str, Any], roles: dict[str, Any]) -> dict[str, str]:
    found = job_problems(experiment(launcher={"mpi": {**MPI, **launcher}}, roles=roles), environment())
    return {problem.path: problem.fix for problem in found}


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
