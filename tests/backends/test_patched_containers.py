"""A patch that names a container as it is called in the cluster, or one that is not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment
from trainform.backends.patched_containers import unknown_containers
from trainform.backends.table import BACKENDS

INIT = [{"name": "fetch", "command": ["fetch"]}]


def problems(backend: str, containers: dict[str, Any]) -> dict[str, str]:
    roles = {"worker": {"replicas": 1, "pod_overrides": {"spec": {"containers": containers}}}}
    found = job_problems(experiment(backend=backend, roles=roles), environment())
    return {problem.path: problem.fix for problem in found}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_main_container_is_called_main_in_every_patch(backend: str) -> None:
    assert problems(backend, {"main": {"tty": True}}) == {}
    for name in ("pytorch", "tensorflow", "node", "worker"):
        place = f"roles.worker.pod_overrides.spec.containers.{name}"
        assert problems(backend, {name: {"tty": True}})[place].startswith(
            "write `main`, as the main container is called"
        )


@pytest.mark.parametrize(
    ("patch", "where", "fix"),
    [
        ({"initContainers": {"fetsh": {"tty": True}}}, "spec.initContainers.fetsh", "write `fetch`; or add `image` for a new one"),
        ({"containers": {"main": {}, "log": {"tty": True}}}, "spec.containers.log", "write `main`"),
        ({"containers": {"log": {"image": "log"}}}, "", ""),
        ({"containers": {"log": None}}, "", ""),
        ({"containers": [{"name": "log"}]}, "", ""),
    ],
)  # fmt: skip
def test_names(patch: dict[str, Any], where: str, fix: str) -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": INIT}
    found = [*unknown_containers({"spec": patch}, spec)]
    assert [place for place, _, _ in found] == ([where] if where else [])
    assert all(given.startswith(fix) for _, _, given in found)


def test_a_pod_without_init_containers() -> None:
    ((_, _, fix),) = unknown_containers({"spec": {"initContainers": {"fetch": {"tty": True}}}}, {"containers": []})
    assert fix == "remove it; or add `image` for a new one"
