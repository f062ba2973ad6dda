"""The volumes that take the place of a pod's volumes, and the files in them; without Docker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.local.rehearsal.workloads import full_name, pod, sources
from trainform.errors import InputError
from trainform.local.rehearsal.kubelet.env import UnknownSourceError
from trainform.local.rehearsal.kubelet.volumes import Volume, container_mounts, pod_volumes, volume_entries

KEYS = {"ssh": {"id_ed25519": b"PRIVATE", "id_ed25519.pub": b"public"}}
FILES = {"launch": {"launch.sh": "exec torchrun"}}
NODE = "gpu-node-7"


def entries(volume: dict[str, Any], group: int | None = None) -> dict[str, tuple[int, int, bytes | None]]:
    """Mode, group and content by path."""
    found = volume_entries(sources(pod("worker-0"), config_maps=FILES, secrets=KEYS), volume, group)
    return {entry.path: (entry.mode, entry.group, entry.data) for entry in found}


def volumes(*specs: dict[str, Any], folders: dict[str, Path] | None = None, **security: int) -> dict[str, Volume]:
    asked = pod("worker-0", volumes=list(specs), securityContext=security)
    return pod_volumes(asked, NODE, {} if folders is None else folders)


@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        ({"secret": {"secretName": "none"}}, "there is no Secret none"),
        ({"configMap": {"name": "launch", "items": [{"key": "k", "path": "p"}]}}, "ConfigMap launch has no key k"),
    ],
)
def test_missing_sources_are_errors(volume: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnknownSourceError, match=reason):
        entries(volume)


def test_the_token_for_the_server_is_left_out() -> None:
    token = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    assert volumes(token) == {}
    mounts = {
        "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
    }
    assert container_mounts(mounts, {}, {}) == ()


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(InputError) as raised:
        volumes({"name": "driver", "csi": {"driver": "nfs.csi.k8s.io"}})
    assert [(problem.path, problem.reason) for problem in raised.value.problems] == [
        (f"pods.{full_name('worker-0')}.volumes.driver", "is a csi, which a rehearsal does not know")
    ]
