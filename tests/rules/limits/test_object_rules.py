"""Objects of a job besides its pods: claims, jobs, Services."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import found, limited, pod, raw
from tests.support.rendering import job_problems
from tests.support.samples import experiment

ASKED = limited(severity={"TF-DATA-1": "error"})
REASON = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
WATCHED = {"worker": {"replicas": 2}, "watcher": {"replicas": 1, "ranked": False, "command": ["watch"]}}


def output(**fields: Any) -> dict[str, Any]:
    return {"storage": {"output": {"size": "1Gi", "mount": "/mnt/output", **fields}}, "roles": WATCHED}


def test_a_claim_that_is_not_kept() -> None:
    assert found("TF-DATA-1", ASKED, **output()) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", ASKED, **output(keep=False)) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", limited(), **output()) == {}, "off by default"


@pytest.mark.parametrize("fields", [{"keep": True}, {"read_only": True}, {"roles": ["watcher"]}, {"roles": []}])
def test_a_claim_that_is_kept_or_not_written(fields: dict[str, Any]) -> None:
    assert found("TF-DATA-1", ASKED, **output(**fields)) == {}


def test_a_claim_of_another_program() -> None:
    storage = {"output": {"claim": "shared", "mount": "/mnt/output"}}
    assert found("TF-DATA-1", ASKED, storage=storage, roles=WATCHED) == {}


def test_volumes_of_others() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    volume = {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}
    mounted = [{"volumeMounts": [{"name": "x"}]}]
    assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": [volume]})) == {"keep": REASON}
    closed = {**volume, "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": [closed]})) == {}


CLAIM = {"size": "1Ti", "class": "fast", "mount": "/runs"}


def claim(spec: dict[str, Any]) -> dict[str, str]:
    overrides = {"claim-runs": {"spec": spec}}
    return found("TF-DATA-2", limited(), storage={"runs": CLAIM}, manifest_overrides=overrides)


def test_an_unknown_class_is_reported_once() -> None:
    told = job_problems(experiment(storage={"runs": {**CLAIM, "class": "fats"}}), limited())
    assert [problem.path for problem in told] == ["storage.runs.class"]


def test_new_claims_are_of_the_classes_of_the_environment() -> None:
    told = "the environment dev does not offer this storage class (it offers: cephfs-ssd)"
    path = "manifest_overrides.claim-runs.spec.storageClassName"
    assert found("TF-DATA-2", limited(), storage={"runs": CLAIM}) == {}
    assert claim({"storageClassName": "gold"}) == {path: told}
    assert claim({"storageClassName": ""}) == {path: told}, "a claim without a class is bound to any volume without one"
    assert claim({"storageClassName": None}) == claim({"storageClassName": "cephfs-ssd"}) == {}
    assert claim({"resources": {"requests": {"storage": "2Ti"}}, "volumeMode": "Filesystem"}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("volumeName", "pv-of-others"),
        ("dataSource", {"kind": "PersistentVolumeClaim", "name": "of-others"}),
        ("dataSourceRef", {"kind": "PersistentVolumeClaim", "name": "of-others", "namespace": "others"}),
        ("selector", {"matchLabels": {"team": "others"}}),
        ("volumeAttributesClassName", "gold"),
    ],
)
def test_new_claims_are_bound_to_nothing(field: str, value: Any) -> None:
    assert claim({field: value}).keys() == {f"manifest_overrides.claim-runs.spec.{field}"}
    assert claim({field: None}) == {}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {field: value}}
    assert raw("TF-DATA-2", limited(), body).keys() == {f"spec.{field}"}


def test_claims_that_others_make() -> None:
    size = {"requests": {"storage": "1Ti"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gold", "resources": size}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    place = "spec.volumes.scratch.ephemeral.volumeClaimTemplate.spec.storageClassName"
    assert raw("TF-DATA-2", limited(), {}, pod({"volumes": [volume]})).keys() == {place}
    stateful = {"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}]}}
    assert raw("TF-DATA-2", limited(), stateful) != {}
    volcano = {"kind": "Job", "spec": {"volumes": [{"mountPath": "/data", "volumeClaim": spec}]}}
    assert raw("TF-DATA-2", limited(), volcano) != {}
    volcano = {"kind": "Job", "spec": {"volumes": [{"mountPath": "/data", "volumeClaimName": "data"}]}}
    assert raw("TF-DATA-2", limited(), volcano) == {}


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


def test_containers_and_models_of_kubedl() -> None:
    """Their images, variables and volumes are judged by no other rule."""
    model = kubedl({"modelVersion": {"imageRepo": "docker.io/a/b", "storage": {"localStorage": {"path": "/models"}}}})
    assert raw("TF-JOB-1", limited(cache_backends=True), model).keys() == {"spec.modelVersion"}
    assert raw("TF-JOB-1", limited(), kubedl(git_sync="{}", tensorboard="{}")).keys() == {
        "metadata.annotations.kubedl.io/git-sync-config",
        "metadata.annotations.kubedl.io/tensorboard-config",
    }


def service(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "board"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "where", "type_"),
    [
        ({"type": "NodePort"}, "spec.type", "NodePort"),
        ({"type": "LoadBalancer"}, "spec.type", "LoadBalancer"),
        ({"externalIPs": ["192.0.2.1"]}, "spec.externalIPs", "LoadBalancer"),
        ({"loadBalancerIP": "192.0.2.1"}, "spec.loadBalancerIP", "LoadBalancer"),
        ({"externalName": "example.com"}, "spec.externalName", "ExternalName"),
    ],
)
def test_services(spec: dict[str, Any], where: str, type_: str) -> None:
    opened = limited(service_types=["ClusterIP", type_])
    assert raw("TF-NET-2", limited(), service(spec)).keys() == {where}
    assert raw("TF-NET-2", opened, service(spec)) == {}
    patch = {"service": {"spec": spec}}
    assert found("TF-NET-2", limited(), manifest_overrides=patch).keys() == {f"manifest_overrides.service.{where}"}
    assert found("TF-NET-2", opened, manifest_overrides=patch) == {}


@pytest.mark.parametrize("spec", [{}, {"type": "ClusterIP"}, {"externalIPs": []}])
def test_usual_services(spec: Any) -> None:
    assert raw("TF-NET-2", limited(), service(spec)) == {}
    assert raw("TF-NET-2", limited(service_types=["NodePort"]), service(spec)).keys() == {"spec.type"}
