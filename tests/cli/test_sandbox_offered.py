"""Where the sandbox is what is wanted, a message has the whole command, with the environment that it is for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.running import error_of
from trainform.cluster.connection import choose_config
from trainform.errors import ClusterError
from trainform.project import sandbox_up


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one environment."""
    folder = tmp_path / "stacks" / "environments"
    folder.mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").touch()
    (folder / "dev.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRAINFORM_SANDBOX", raising=False)
    return tmp_path


def test_the_environment_is_named_where_there_is_one(project: Path) -> None:
    assert sandbox_up() == "trainform sandbox up -e dev"
    folder = project / "stacks" / "environments"
    (folder / "prod.yaml").touch()
    assert sandbox_up() == "trainform sandbox up -e dev"
    (folder / "dev.yaml").rename(folder / "lab.yaml")
    assert sandbox_up() == "trainform sandbox up -e ENV"


def test_no_sandbox_is_up(project: Path) -> None:
    error = error_of("sandbox", "env", code=1)
    assert error["message"] == f"no sandbox is up in {project}/.trainform/sandbox"
    assert error["fix"] == "run `trainform sandbox up -e dev`"


def use(project: Path, monkeypatch: pytest.MonkeyPatch, context: str) -> None:
    content = {
        "clusters": [{"name": "it", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": context, "context": {"cluster": "it", "user": "me"}}],
        "users": [{"name": "me", "user": {}}],
    }
    (project / "kubeconfig").write_text(yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", str(project / "kubeconfig"))


def test_a_context_that_the_sandbox_could_have(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(project, monkeypatch, "lab")
    with pytest.raises(ClusterError, match="no such context; it has lab") as caught:
        choose_config("dev-cluster")
    assert caught.value.fix.startswith("set KUBECONFIG or `cluster.context` of the environment")
    assert caught.value.fix.endswith("; on the sandbox: `trainform sandbox up -e dev`")


def test_the_environment_of_the_context_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "stacks" / "environments"
    (folder / "broken.yaml").write_text("cluster: [")
    (folder / "prod.yaml").write_text("name: prod\ncluster: {context: prod-cluster}\n")
    monkeypatch.setenv("KUBECONFIG", "gone")
    with pytest.raises(ClusterError, match=f"there is no kubeconfig at {project}/gone") as caught:
        choose_config("prod-cluster")
    assert caught.value.fix.endswith("; on the sandbox: `trainform sandbox up -e prod`")
