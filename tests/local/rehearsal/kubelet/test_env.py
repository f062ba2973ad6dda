"""The environment of a container, as the kubelet makes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.workloads import NAMESPACE, full_name, pod, sources
from trainform.errors import InputError
from trainform.local.rehearsal.kubelet.env import container_env

CONFIG_MAPS = {"hosts": {"VC_WORKER_NUM": "3", "worker.host": "resnet-0"}, "tuning": {"NCCL_DEBUG": "INFO"}}
SECRETS = {"wandb": {"api-key": b"0123456789abcdef"}}


def env(*entries: dict[str, Any], **container: Any) -> dict[str, str]:
    worker = pod("worker-2", main={"env": list(entries), **container})
    worker["metadata"]["labels"] |= {"volcano.sh/task-index": "2"}
    worker["metadata"]["annotations"] = {"hccl/rankIndex": "2"}
    return container_env(sources(worker, config_maps=CONFIG_MAPS, secrets=SECRETS), worker["spec"]["containers"][0])


def test_fields_of_the_pod() -> None:
    fields = {
        "NAME": "metadata.name",
        "SPACE": "metadata.namespace",
        "INDEX": "metadata.labels['volcano.sh/task-index']",
        "RANK": "metadata.annotations['hccl/rankIndex']",
        "NO_LABEL": "metadata.labels['app']",
        "NODE": "spec.nodeName",
        "IP": "status.podIP",
        "HOST": "status.hostIP",
        "ACCOUNT": "spec.serviceAccountName",
    }
    made = env(*({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()))
    assert made == {
        "NAME": full_name("worker-2"), "SPACE": NAMESPACE, "INDEX": "2", "RANK": "2", "NO_LABEL": "",
        "NODE": "gpu-node-7", "IP": "10.42.0.17", "HOST": "10.42.0.17", "ACCOUNT": "default",
    }  # fmt: skip


def test_keys_of_config_maps_and_secrets() -> None:
    assert env(
        {"name": "N", "valueFrom": {"configMapKeyRef": {"name": "hosts", "key": "VC_WORKER_NUM"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "api-key"}}},
    ) == {"N": "3", "KEY": "0123456789abcdef"}


def test_the_last_of_two_variables_wins_and_may_use_the_first() -> None:
    """Volcano appends variables of its own: a kubelet takes those."""
    assert env({"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}) == {
        "A": "2",
        "B": "1",
    }
    assert env({"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"})["B"] == "$(A)"
    assert env({"name": "PATH", "value": "a"}, {"name": "PATH", "value": "$(PATH):b"})["PATH"] == "a:b"


def test_all_missing_sources_are_reported_together() -> None:
    with pytest.raises(InputError) as raised:
        env(
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
            {"name": "N", "valueFrom": {"configMapKeyRef": {"name": "hosts", "key": "VC_PS_NUM"}}},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            envFrom=[{"configMapRef": {"name": "none"}}],
        )
    path = f"pods.{full_name('worker-2')}.main"
    assert {problem.path.removeprefix(path): problem.reason for problem in raised.value.problems} == {
        ".envFrom[0]": "there is no ConfigMap none",
        ".env.HF_TOKEN": "there is no Secret hf",
        ".env.N": "ConfigMap hosts has no key VC_PS_NUM",
        ".env.CPUS": "comes from a resourceFieldRef, which a rehearsal does not know",
        ".env.X": "the field status.phase is not known here",
    }
