"""The facts of a stack: what is hashed, what is shown, and that nothing secret is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.stacks.saved.samples import KEY, exported
from tests.support.api_objects import ApiObjects
from tests.support.websites import website
from trainform.errors import ClusterError
from trainform.spec.load import load_environment
from trainform.stacks.saved import gather
from trainform.stacks.saved.gather import Source, provider_variables, state_of

TOKEN = "hf_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7"
DEV = load_environment("dev").or_raise()
SYSTEM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "kube-system", "uid": "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90"},
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "stacks").mkdir()
    return Source("bert.dev", tmp_path, KEY)


def config(source: Source, text: str) -> dict[str, str | None]:
    """The config as it is shown; None for a hash."""
    (source.root / "stacks" / "Pulumi.bert.dev.yaml").write_text(text)
    found = gather.config_of(source)
    return {key: None if re.fullmatch("[0-9a-f]{64}", value) else value for key, value in found.items()}


def test_the_values_of_trainforms_own_keys_are_shown(source: Source) -> None:
    text = """\
encryptionsalt: v1:abc
config:
  trainform:experiment: bert
  trainform:run: 2
  trainform:release: 0123456789abcdef0123
  trainform:sshSecret: {secure: v1:def}
  aws:region: eu-west-1
environment: [shared]
"""
    assert config(source, text) == {
        "trainform:experiment": "bert",
        "trainform:run": "2",
        "trainform:release": "0123456789abcdef0123",
        "trainform:sshSecret": None,
        "aws:region": None,
        "environment": None,
    }


def test_what_encrypts_the_secrets_is_no_config(source: Source) -> None:
    """The engine writes it at a first preview."""
    assert config(source, "config: {}\n") == config(source, "config: {}\nencryptionsalt: v1:abc\n") == {}


def test_no_value_is_in_the_hashes(source: Source) -> None:
    other = Source("bert.dev", source.root, KEY[::-1])
    config(source, "config: {trainform:sshSecret: '1234'}\n")
    assert gather.config_of(source) != gather.config_of(other)
    assert "1234" not in str(gather.config_of(source))


def test_a_secret_counts_and_is_not_in_the_facts(source: Source) -> None:
    env = [{"name": "HF_TOKEN", "value": TOKEN}, {"name": "LETTER", "value": "INFO"}]
    found = source.hash_secrets({"spec": {"env": env, "replicas": 4}})
    assert found["spec"]["replicas"] == 4
    assert found["spec"]["env"][1] == env[1]
    assert TOKEN not in str(found)
    assert found != source.hash_secrets({"spec": {"env": [{**env[0], "value": TOKEN[::-1]}, env[1]], "replicas": 4}})


def test_every_resource_counts(source: Source) -> None:
    data = exported()
    before = state_of(data, source)
    assert state_of(exported(5), source) != before
    data["deployment"]["resources"].append({**data["deployment"]["resources"][0], "delete": True})
    assert state_of(data, source) != before


def test_a_cluster_is_known_by_its_uid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ApiObjects([SYSTEM])
    with website(server) as url:
        use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        assert gather.cluster_uid(DEV) == SYSTEM["metadata"]["uid"]
        server.forbidden = frozenset({"namespaces"})
        with pytest.raises(ClusterError, match="this account may not read which cluster the context dev-") as found:
            gather.cluster_uid(DEV)
    assert found.value.fix == "ask the platform team for `get` of the namespace kube-system"
    with pytest.raises(ClusterError, match="cannot reach the cluster of context dev-cluster"):
        gather.cluster_uid(DEV)


def test_variables_that_change_how_objects_are_written_or_deleted() -> None:
    counted = {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true", "PULUMI_KUBERNETES_MANAGED_BY_LABEL": "x"}
    harmless = ("PULUMI_K8S_CLIENT_QPS", "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS", "PULUMI_K8S_HELM_DRIVER", "PATH")
    assert provider_variables({**counted, **dict.fromkeys(harmless, "1")}) == counted
