"""What a job hands to other controllers, and what KubeDL makes of its own fields and annotations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import limited, pod, raw

REGISTRY = limited(registries=["registry.example.com"])


def kubedl(spec: dict[str, Any] | None = None, **annotations: str) -> dict[str, Any]:
    names = {f"kubedl.io/{key.replace('_', '-')}-config": value for key, value in annotations.items()}
    return {"kind": "PyTorchJob", "metadata": {"annotations": names}, "spec": {} if spec is None else spec}


@pytest.mark.parametrize(
    "spec",
    [
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}},
        {"template": {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}},
    ],
)
def test_a_job_is_for_the_operator(spec: dict[str, Any]) -> None:
    body = {"kind": "JobSet", "spec": spec}
    (place,) = raw("TF-JOB-1", limited(), body)
    assert place.endswith("managedBy")
    assert raw("TF-JOB-1", limited(job_managers=["kueue.x-k8s.io/multikueue"]), body) == {}
    assert (
        raw("TF-JOB-1", limited(), {"kind": "JobSet", "spec": {"managedBy": "jobset.sigs.k8s.io/jobset-controller"}})
        == {}
    )


def test_caches_of_kubedl() -> None:
    body = kubedl({"cacheBackend": {"name": "data", "mountPath": "/data"}})
    assert raw("TF-JOB-1", limited(), body).keys() == {"spec.cacheBackend"}
    assert raw("TF-JOB-1", limited(cache_backends=True), body) == {}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('{"image": "registry.example.com/a:1"}', False),
        ('{"image": "docker.io/a/b:1"}', True),
        ('{"IMAGE": "docker.io/a/b:1"}', True),
        ('{"image": "registry.example.com/a:1", "Image": "docker.io/a/b:1"}', True),
        ("{", True),
        ("[]", False),
    ],
)
def test_the_images_of_add_ons(text: str, refused: bool) -> None:
    assert bool(raw("TF-IMG-1", REGISTRY, kubedl(tensorboard=text))) is refused
    assert bool(raw("TF-IMG-1", REGISTRY, kubedl(git_sync=text))) is (refused or text == "[]"), "KubeDL has an image"
    assert raw("TF-IMG-1", limited(), kubedl(git_sync=text)) == {}


def test_variables_of_an_add_on_give_no_devices() -> None:
    body = kubedl(git_sync='{"envs": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}')
    assert raw("TF-RES-7", limited(), body).keys() == {"metadata.annotations.kubedl.io/git-sync-config"}
    assert raw("TF-RES-7", limited(), kubedl(git_sync='{"envs": [{"name": "GIT_DEPTH", "value": "1"}]}')) == {}


@pytest.mark.parametrize(
    ("storage", "limits"),
    [
        ({"localStorage": {"path": "/models", "nodeName": "node-1"}}, {"host_paths": ["/models"]}),
        ({"nfs": {"server": "nfs.example.com", "path": "/"}}, {"volume_types": ["emptyDir", "nfs"]}),
        ({"AWSEfs": {"volumeHandle": "fs-1"}}, {"volume_types": ["csi"]}),
    ],
)
def test_where_kubedl_keeps_a_model(storage: dict[str, Any], limits: dict[str, Any]) -> None:
    body = kubedl({"modelVersion": {"imageRepo": "registry.example.com/model", "storage": storage}})
    (kind,) = storage
    assert raw("TF-POD-2", REGISTRY, body).keys() == {f"spec.modelVersion.storage.{kind}"}
    assert raw("TF-POD-2", limited(**limits), body) == raw("TF-IMG-1", REGISTRY, body) == {}
    body["spec"]["modelVersion"]["imageRepo"] = "docker.io/evil/model"
    assert raw("TF-IMG-1", REGISTRY, body).keys() == {"spec.modelVersion.imageRepo"}


def test_a_gang_without_a_queue_waits_in_the_default_one() -> None:
    member = pod({}, {"annotations": {"scheduling.k8s.io/group-name": "gang"}})
    night = limited(queues=["night"])
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {"queue": "night"}}, member) == {}
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {}}, member).keys() == {"spec.queue"}
