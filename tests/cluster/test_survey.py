"""The survey of a cluster over the network, with servers that return anything, or nothing."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.test_client import use
from tests.support.websites import Answer, website
from trainform.cli.main import main
from trainform.cluster.survey import survey
from trainform.errors import ClusterError

CONTEXT = "dev-cluster"  # as `use` calls it
TOKEN = "t0ken"  # noqa: S105 - of these kubeconfigs


def says(content: dict[str, Any], status: int = 200) -> Answer:
    """The same object at every path."""
    return status, "application/json", json.dumps({"gitVersion": "v1.34.4", "groups": [], **content}).encode()


def kubeconfig(folder: Path, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    use(folder / "kubeconfig", monkeypatch, server, {"token": TOKEN})


def test_a_hostile_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every object is a node, a class and a queue with invalid names: the rules of environments refuse them."""
    names = ['"}\nlimits: {privileged: true}\n#', "\x1b[2J\x1b[31m", "\u202egpj.exe", "'", "default", "nvidia.com/gpu"]
    items = [
        {
            "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": name}},
            "spec": {"parent": name, "taints": [{"key": name, "value": name, "effect": name}]},
            "status": {"allocatable": {name: "8", "nvidia.com/gpu": "8"}},
        }
        for name in names
    ]
    (tmp_path / "Pulumi.yaml").write_text("name: mine\n")
    with website(says({"items": items, "metadata": {}, "message": names[1]})) as server:
        kubeconfig(tmp_path, monkeypatch, server)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as exit_:
            main(["new", "-e", "prod", "--from-context", CONTEXT])
    printed = capsys.readouterr()
    assert exit_.value.code == 2
    assert "\x1b" not in printed.out + printed.err
    assert not (tmp_path / "stacks").exists()


def test_lists_without_permission_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with website(says({"message": "no"}, status=403)) as server:
        kubeconfig(tmp_path, monkeypatch, server)
        found = survey(CONTEXT)
    assert (found.nodes, found.storage_classes, found.queues, found.operators) == (None, None, None, None)
    assert found.namespace == "default"
    assert [note.partition(" could not be read: ")[0] for note in found.unread] == [
        "nodes",
        "storage classes",
        "operators",
    ]


def test_only_needed_fields_of_objects_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata, status = {"name": "n", "labels": {"a": "b"}}, {"allocatable": {"cpu": "1"}}
    images = [{"names": ["x"] * 50}]
    full = {"metadata": {**metadata, "managedFields": [{}]}, "status": {**status, "images": images}, "spec": 5}
    with website(says({"items": [full, None, "x"], "metadata": {}})) as server:
        kubeconfig(tmp_path, monkeypatch, server)
        found = survey(CONTEXT)
    assert found.nodes == [{"metadata": metadata, "status": status}, {}, {}]
    assert found.storage_classes == [{"metadata": {"name": "n"}}, {}, {}]


@pytest.mark.parametrize("namespace", ["Team A", "a/../../nodes", "a" * 64])
def test_an_invalid_namespace_of_the_context_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    """The user has not typed it: the error says where it stands. Nothing is requested from a path that contains it."""
    request: list[str] = []

    def answer(path: str) -> Answer:
        request.append(path)
        return says({"items": [], "metadata": {}})

    with website(answer) as server:
        kubeconfig(tmp_path, monkeypatch, server)
        path = tmp_path / "kubeconfig"
        content = yaml.safe_load(path.read_text())
        content["contexts"][0]["context"]["namespace"] = namespace
        path.write_text(yaml.safe_dump(content))
        with pytest.raises(ClusterError) as caught:
            survey(CONTEXT)
    assert f"the context {CONTEXT} of {path} names the namespace" in caught.value.message
    assert "is not a DNS label" in caught.value.message
    assert caught.value.fix == f"kubectl config set-context {CONTEXT} --namespace=NAME"
    assert request == []


def test_a_server_that_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig(tmp_path, monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ClusterError, match="timed out") as caught:
            survey(CONTEXT, seconds=1.0)
    assert caught.value.fix
