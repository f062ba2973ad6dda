"""`trainform logs` and `exec`, from a server that answers as an API server does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.cli.test_status import objects, project
from tests.deployed.test_overview import recorded
from tests.running.test_logs import ended, running
from tests.running.test_read import bert
from tests.support.api_objects import ApiObjects
from trainform import defaults

__all__ = ["objects", "project"]
NO_OUTPUT = "the pods have ended: worker/0 rank 0\n"


def of_phase(phase: str, *pods: dict[str, Any]) -> list[dict[str, Any]]:
    """The job in a phase of Volcano, with two workers in its plan."""
    job = bert()
    job["status"] = {"state": {"phase": phase}}
    return [recorded("bert", 2), job, *pods]


def failed(index: int) -> dict[str, Any]:
    body = running(index, ended(1, "05"))
    body["status"]["phase"] = "Failed"
    return body


@pytest.mark.parametrize("words", [(), ("-f",)])
def test_the_deleted_pods_of_an_ended_job(words: tuple[str, ...], project: Path, objects: ApiObjects) -> None:
    objects.bodies = of_phase("Failed", failed(1))
    code, out, err = run("logs", "bert.dev", "--rank", "0", *words)
    assert (code, out, err) == (1, "", f"trainform: no output, and {NO_OUTPUT}")
    objects.bodies = of_phase("Failed")
    assert run("logs", "bert.dev", "--failed") == (0, "", "trainform: there is no pod that has failed\n")


def test_a_job_that_may_not_be_read(project: Path, objects: ApiObjects) -> None:
    """`view` may not read the jobs of Volcano."""
    objects.forbidden = frozenset({"jobs"})
    objects.bodies = of_phase("Pending")
    waits = "trainform: no output yet of worker/0 rank 0, worker/1 rank 1\n"
    assert run("logs", "bert.dev") == (1, "", waits), "the job may be there"
    objects.bodies = of_phase("Failed", failed(1))
    assert run("logs", "bert.dev", "worker/0")[2].endswith(NO_OUTPUT)
    objects.forbidden = frozenset()
    objects.bodies = of_phase("Pending")[:1]
    assert "bert is not deployed in dev" in run("logs", "bert.dev")[2]


def test_a_step_that_runs_is_named(project: Path, objects: ApiObjects) -> None:
    waits = running(0, {"waiting": {"reason": "PodInitializing"}})
    waits["status"] |= {"phase": "Pending", "initContainerStatuses": [{"name": "code", "state": {"running": {}}}]}
    objects.bodies = of_phase("Pending", waits)
    note = "trainform: no output yet of worker/0 rank 0, worker/1 rank 1; `--step code` runs\n"
    assert run("logs", "bert.dev") == (1, "", note)


@pytest.mark.parametrize("words", [("logs", "-f"), ("exec", "worker/0"), ("port-forward", "worker/0", "6006")])
def test_simulated_nodes_run_no_containers(
    words: tuple[str, ...], project: Path, objects: ApiObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_kubectl(project, monkeypatch)
    kubeconfig = Path(os.environ["KUBECONFIG"])
    kubeconfig.write_text(
        kubeconfig.read_text()
        .replace("cluster: dev-cluster", f"cluster: {defaults.SANDBOX_CONTEXT}")
        .replace("name: dev-cluster", f"name: {defaults.SANDBOX_CONTEXT}", 1)
    )
    node = {"name": "node-0", "labels": {defaults.NODES_LABEL: defaults.SIMULATED}}
    objects.bodies = [*of_phase("Running", running(0)), {"apiVersion": "v1", "kind": "Node", "metadata": node}]
    code, out, err = run(words[0], "bert.dev", *words[1:])
    assert (code, out) == (1, "")
    assert "the node node-0 is simulated, and runs no containers" in err
    assert "fix: `trainform sandbox up --nodes real`" in err


def test_a_command_without_a_pod(project: Path, objects: ApiObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    with_kubectl(project, monkeypatch)
    objects.bodies = of_phase("Running", running(0))
    code, _, err = run("exec", "bert.dev", "--", "hostname")
    assert (code, "ROLE[/INDEX] = hostname" in err, "its pods: worker/0 rank 0" in err) == (2, True, True), err


def with_kubectl(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "kubectl").touch(0o755)
    monkeypatch.setenv("PATH", str(folder))
