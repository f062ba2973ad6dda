"""Which cluster is read: the one that kubectl and Pulumi would take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from trainform.catalog import defaults
from trainform.cluster.read import Cluster
from trainform.errors import ClusterError


def kubeconfig(path: Path, *contexts: str, current: str = "") -> Path:
    """A kubeconfig whose contexts lead to servers of the same name."""
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": current,
                "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in contexts],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
                "users": [{"name": name, "user": {"token": "t0ken"}} for name in contexts],
            }
        )
    )
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and no KUBECONFIG."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def test_a_context_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "KUBECONFIG", str(kubeconfig(home / "one", "dev-cluster", "prod-cluster", current="prod-cluster"))
    )
    assert Cluster("dev-cluster").server == "https://dev-cluster:6443"
    assert Cluster(None).server == "https://prod-cluster:6443"


def test_several_files_as_kubectl_takes_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        kubeconfig(home / "one", "dev-cluster"),
        kubeconfig(home / "two", "prod-cluster", current="prod-cluster"),
    )
    monkeypatch.setenv("KUBECONFIG", f"{first}:{home / 'missing'}:{second}")
    assert Cluster("prod-cluster").server == "https://prod-cluster:6443"
    assert Cluster(None).server == "https://prod-cluster:6443"


def test_the_file_in_the_home_folder(home: Path) -> None:
    (home / ".kube").mkdir()
    kubeconfig(home / ".kube" / "config", "dev-cluster", current="dev-cluster")
    assert Cluster(None).server == "https://dev-cluster:6443"


def test_a_runner_inside_a_cluster_still_takes_the_kubeconfig(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "one", "dev-cluster")))
    assert Cluster("dev-cluster").server == "https://dev-cluster:6443"


def test_no_file_names_the_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"there is no kubeconfig at ~/\.kube/config"):
        Cluster("dev-cluster")
    monkeypatch.setenv("KUBECONFIG", str(home / "missing"))
    with pytest.raises(ClusterError, match=f"there is no kubeconfig at {home / 'missing'}"):
        Cluster("dev-cluster")


def test_an_unknown_context_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "one", "dev-cluster")))
    with pytest.raises(ClusterError, match="no way to the cluster of context prod-cluster"):
        Cluster("prod-cluster")


def cluster_at(server: str) -> str:
    return f"clusters: [{{name: a, cluster: {{server: {server}}}}}]\ncontexts: [{{name: dev-cluster, context: {{cluster: a}}}}]\n"


@pytest.mark.parametrize(
    "content",
    [
        "clusters: [", "- a\n- b\n", "clusters: 1\n", "contexts: {}\n", "", "a: !!bool abc", "a: !!timestamp abc", "a: !!int ''", "a: 2026-02-30",
        "a: &a [*a]", "[" * 5000, cluster_at('"http://[::"'), cluster_at('"\\0"'), cluster_at("5"),
    ],
)  # fmt: skip
def test_a_broken_file_is_told(home: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    (home / "broken").write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(home / "broken"))
    with pytest.raises(ClusterError, match="no way to the cluster"):
        Cluster("dev-cluster")


def test_only_regular_files_are_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(home / "pipe")
    (home / "folder").mkdir()
    for name, kind in (("pipe", "a pipe"), ("folder", "a directory")):
        monkeypatch.setenv("KUBECONFIG", str(home / name))
        with pytest.raises(ClusterError, match=f"{home / name} is {kind}, not a file"):
            Cluster("dev-cluster")


def test_a_file_that_no_kubeconfig_is_as_long_as(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "long").write_bytes(b"#" * (defaults.LARGEST_KUBECONFIG + 1))
    monkeypatch.setenv("KUBECONFIG", str(home / "long"))
    with pytest.raises(ClusterError, match="at most 16 MiB are read"):
        Cluster("dev-cluster")


def test_a_line_of_the_file_is_not_repeated(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "broken").write_text("users:\n- user: {token: hunter2\n")
    monkeypatch.setenv("KUBECONFIG", str(home / "broken"))
    with pytest.raises(ClusterError, match=f"{home / 'broken'}:3 is not YAML that can be read") as told:
        Cluster("dev-cluster")
    assert "hunter2" not in str(told.value)
