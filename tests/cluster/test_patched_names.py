"""What merge patches name in pods, and what of it the live cluster does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_read import use
from tests.support.samples import environment, plan
from tests.support.websites import website
from trainform.cluster.patched_names import NamedObject, missing_names, names_in, patched_names
from trainform.cluster.read import Cluster

MISSING = (404, "application/json", b'{"kind": "Status", "apiVersion": "v1", "code": 404, "message": "not found"}')
FORBIDDEN = (403, "application/json", b'{"kind": "Status", "apiVersion": "v1", "code": 403, "message": "forbidden"}')
OPEN = environment(limits={"host_network": True, "pod_security": "privileged", "runtime_classes": ["gvisor"]})
MOUNTS = {
    "serviceAccountName": "mine",
    "runtimeClassName": "gvisor",
    "imagePullSecrets": [{"name": "harbor"}],
    "volumes": {
        "more": {"persistentVolumeClaim": {"claimName": "datasets-2024"}},
        "both": {"projected": {"sources": [{"secret": {"name": "token", "items": [{"key": "hf", "path": "hf"}]}}]}},
        "perhaps": {"configMap": {"name": "tuning", "optional": True}},
    },
    "containers": {
        "main": {
            "env": {"WANDB_KEY": {"valueFrom": {"secretKeyRef": {"name": "wandb", "key": "key"}}}},
            "envFrom": [{"configMapRef": {"name": "proxies"}}],
        }
    },
}
NAMED = {
    NamedObject("ServiceAccount", "mine"),
    NamedObject("RuntimeClass", "gvisor"),
    NamedObject("Secret", "harbor"),
    NamedObject("PersistentVolumeClaim", "datasets-2024"),
    NamedObject("Secret", "token"),
    NamedObject("Secret", "token", "hf"),
    NamedObject("Secret", "wandb"),
    NamedObject("Secret", "wandb", "key"),
    NamedObject("ConfigMap", "proxies"),
}


def with_pods(spec: dict[str, Any], backend: str = "volcano", **parts: Any) -> Any:
    return plan(cluster=OPEN, backend=backend, roles={"worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}, **parts)  # fmt: skip


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubeflow"])
def test_what_a_patch_of_pods_names(backend: str) -> None:
    assert {*patched_names(with_pods(MOUNTS, backend))} == NAMED


def test_what_fields_name_is_no_matter_of_a_patch() -> None:
    storage = {"data": {"claim": "datasets", "mount": "/data"}}
    assert patched_names(with_pods({"terminationGracePeriodSeconds": 60}, storage=storage)) == []
    assert patched_names(plan(storage=storage)) == []


def test_what_a_patch_of_the_job_names() -> None:
    spec = {"volumes": [{"mountPath": "/more", "volumeClaimName": "datasets-2024"}]}
    assert patched_names(plan(manifest_overrides={"job": {"spec": spec}})) == [
        NamedObject("PersistentVolumeClaim", "datasets-2024")
    ]


def test_nothing_is_needed_that_is_not_named() -> None:
    assert [*names_in({"volumes": [{"name": "scratch", "emptyDir": {}}], "containers": [{"name": "main"}]})] == []


def missing(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, spec: dict[str, Any], *own: Any) -> list[Any]:
    with website(answer) as server:
        use(folder / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        return [*missing_names(Cluster(None), with_pods(spec), own)]


def test_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = missing(tmp_path, monkeypatch, MISSING, {"serviceAccountName": "mine", "runtimeClassName": "gvisor"})
    namespace = OPEN.namespace.name
    assert [reason.partition(", which does not exist in ") for reason, _ in found] == [
        ("a patch names the ServiceAccount mine", ", which does not exist in ", namespace),
        ("a patch names the RuntimeClass gvisor", ", which does not exist in ", Cluster(None).cluster_name),
    ]
    assert missing(tmp_path, monkeypatch, MISSING, {"serviceAccountName": "mine"}, ("ServiceAccount", "mine")) == []


def test_what_nobody_may_read_is_perhaps_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(tmp_path, monkeypatch, FORBIDDEN, MOUNTS) == []


def test_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = (200, "application/json", json.dumps({"kind": "Secret", "metadata": {"name": "wandb"}, "data": {"key": "a2V5"}}).encode())  # fmt: skip
    for key, told in (("key", []), ("token", ["a patch names the entry token of the Secret wandb, which does not have it"])):  # fmt: skip
        variable = {"WANDB_KEY": {"valueFrom": {"secretKeyRef": {"name": "wandb", "key": key}}}}
        found = missing(tmp_path, monkeypatch, there, {"containers": {"main": {"env": variable}}})
        assert [reason for reason, _ in found] == told
