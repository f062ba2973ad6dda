"""What the cluster lacks: one clear message within a minute each."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml

from tests.engine.interruption import start_up
from tests.engine.live import Live, until
from tests.engine.project import Project

WITHIN = 60.0


def message_of(project: Project, *words: str, kubeconfig: str | None = None) -> str:
    """What a failing command says; fails the test where it takes longer than a minute."""
    started = time.monotonic()
    if kubeconfig is not None:
        project.environ["KUBECONFIG"] = kubeconfig
    output = project.pulumi(*words).failed()
    assert time.monotonic() - started < WITHIN
    return output


@pytest.fixture
def hello(project: Project) -> str:
    """The stack of `hello`, not up."""
    project.copied("hello")
    return project.stack("hello")


def kubeconfig_to(project: Project, port: int) -> str:
    """A kubeconfig like the sandbox's that leads to another port."""
    content = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    for cluster in content["clusters"]:
        cluster["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = project.folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


@contextmanager
def listening(answers: bool) -> Iterator[int]:
    """A port that is closed, or one that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if answers:
            server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize("answers", [False, True], ids=["closed port", "silent server"])
def test_an_unreachable_cluster(project: Project, hello: str, answers: bool) -> None:
    with listening(answers) as port:
        kubeconfig = kubeconfig_to(project, port)
        for verb in (["preview"], ["up", "--yes", "--skip-preview"]):
            output = message_of(project, *verb, "-s", hello, kubeconfig=kubeconfig)
            assert f"cannot reach the cluster of context dev-cluster (https://127.0.0.1:{port})" in output
            assert "fix: check the network or VPN" in output


def test_an_unknown_context(project: Project, hello: str) -> None:
    project.environment(cluster={"context": "prod-cluster"})
    assert "no way to the cluster of context prod-cluster" in message_of(project, "preview", "-s", hello)


def test_a_missing_namespace(project: Project, hello: str) -> None:
    project.environment(namespace={"name": "ai-nowhere", "create": False})
    output = message_of(project, "preview", "-s", hello)
    assert "the namespace ai-nowhere does not exist" in output
    assert "pulumi up -s dev" in output


def test_a_queue_that_does_not_exist(project: Project, hello: str) -> None:
    project.environment(queues={"team-audio": {"weight": 1}})
    project.copied("hello", lambda data: data.update(queue="team-audio"))
    output = message_of(project, "preview", "-s", hello)
    assert "the queue team-audio does not exist" in output


def test_a_closed_queue(project: Project, live: Live, hello: str) -> None:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "team-closed"},
        "spec": {"weight": 1},
    }
    live.create("queues", queue)
    opened = until(
        lambda: live.find("queues", "team-closed") if _state(live, "team-closed") == "Open" else None,
        "the queue to open",
    )
    command = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "close-team-closed"},
        "action": "CloseQueue",
        "target": {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "name": "team-closed",
            "uid": opened["metadata"]["uid"],
            "controller": True,
        },
    }
    live.create("commands", command, "default")
    until(lambda: _state(live, "team-closed") == "Closed" or None, "the queue to close")
    project.environment(queues={"team-closed": {"weight": 1}})
    project.copied("hello", lambda data: data.update(queue="team-closed"))
    output = message_of(project, "preview", "-s", hello)
    assert "the queue team-closed is Closed" in output
    assert "vcctl queue operate --action open --name team-closed" in output
    live.delete("queues", "team-closed")


def test_a_queue_that_never_opens_and_a_second_up_that_meets_the_lock(
    project: Project, live: Live, volcano_controller: psutil.Process
) -> None:
    """With Volcano's controller stopped an own queue never opens; `up` waits for it, and meanwhile holds the stack's lock."""
    project.copied("extras")
    stack = project.stack("extras")
    volcano_controller.suspend()
    try:
        started = time.monotonic()
        first = start_up(project, stack)
        until(lambda: live.find("queues", "extras"), "the queue to be made")
        output = message_of(project, "up", "--yes", "--skip-preview", "-s", stack)
        assert "the stack is currently locked" in output
        assert first.wait(timeout=WITHIN) != 0
        assert time.monotonic() - started < WITHIN
        output = message_of(project, "up", "--yes", "--skip-preview", "-s", stack)
        assert "the queue extras has not opened within 40 s" in output
    finally:
        volcano_controller.resume()
    project.up(stack)
    project.unchanged(stack)


def _state(live: Live, queue: str) -> str:
    return str(live.get("queues", queue).get("status", {}).get("state", ""))


def test_a_cluster_without_volcano(project: Project, hello: str, bare_cluster: str) -> None:
    output = message_of(project, "preview", "-s", hello, kubeconfig=bare_cluster)
    assert "has no jobs.batch.volcano.sh" in output
    assert "install Volcano" in output
