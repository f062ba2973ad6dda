"""What a launcher over SSH asks of roles, and what is said to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment

MPI = {"command": ["python", "/app/train.py"]}
LAUNCHING = {"ranked": False, "command": ["sleep", "infinity"]}
BARE = {"ranked": False}


def fixes(launcher: dict[str, Any], roles: dict[str, Any]) -> dict[str, str]:
    found = job_problems(experiment(launcher={"mpi": {**MPI, **launcher}}, roles=roles), environment())
    return {problem.path: problem.fix for problem in found}


def test_each_advice_leads_on() -> None:
    """A launcher role as other operators have it: it is named, then its command goes, and the job is accepted."""
    workers = {"worker": {"replicas": 2}}
    named = "write `role: launcher` in `launcher.mpi`, or "
    (fix,) = fixes({}, {**workers, "launcher": LAUNCHING}).values()
    assert fix.startswith(named)
    assert fixes({"role": "launcher"}, {**workers, "launcher": LAUNCHING}) == {"roles.launcher.command": "remove it"}
    assert fixes({"role": "launcher"}, {**workers, "launcher": BARE}) == {}


@pytest.mark.parametrize("other", [{}, {"watcher": {**LAUNCHING, "replicas": 2}}])
def test_without_a_role_that_could_launch(other: dict[str, Any]) -> None:
    (fix,) = fixes({}, {"worker": {"replicas": 2}, **other}).values()
    assert fix == "split it: `master: {replicas: 1}` with all else that worker has, before `worker: {replicas: 1}`"
    assert fixes({}, {"master": {"replicas": 1}, "worker": {"replicas": 1}, **other}) == {}


@pytest.mark.parametrize(
    ("launcher", "roles", "fix"),
    [
        (
            {},
            {"master": {"replicas": 4}},
            "split it: `first: {replicas: 1}` with all else that master has, before `master: {replicas: 3}`",
        ),
        ({"role": "launcher"}, {"launcher": {**BARE, "replicas": 2}, "worker": {}}, "write 1"),
    ],
)
def test_the_number_of_nodes_stays(launcher: dict[str, Any], roles: dict[str, Any], fix: str) -> None:
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
