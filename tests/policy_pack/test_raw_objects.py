"""Objects beside jobs, and what operators make by fields of their own, as somebody writes them who has no trainform."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_pack.judging import COMPONENT, ELSEWHERE, GOOD, REGISTRY, TODAY, found
from tests.policy_pack.raw import raw_objects
from tests.support.samples import environment
from trainform.policy_pack.judgement import Brought, Resource, Verdict, unseen, verdict
from trainform.rules.limits.table import RULES

ASKING = {"name": "main", "image": GOOD, "resources": {"limits": {"baidu.com/a800_80g_cgpu": 8}}}


def made(version: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **parts}


@pytest.mark.parametrize(("kind", "source"), [("nfs", {"server": "nfs", "path": "/"}), ("csi", {"driver": "fuse"})])
def test_a_persistent_volume_is_no_way_to_a_type_of_volume(kind: str, source: dict[str, Any]) -> None:
    """A claim in the environment's namespace binds to it, and pods mount the claim."""
    body = made("v1", "PersistentVolume", spec={"capacity": {"storage": "1Ti"}, kind: source})
    [message] = found("TF-POD-2", body).found
    assert message.startswith(f"spec.{kind}: ")
    assert found("TF-POD-2", body, environment(limits={"volume_types": [kind]})) == Verdict()


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_devices_that_an_object_claims_are_refused(kind: str) -> None:
    body = made("resource.k8s.io/v1", kind, spec={"devices": {"requests": [{"name": "gpu"}]}})
    assert len(found("TF-RES-3", body).found) == 1


def test_a_priority_class_for_all_pods_of_the_cluster_is_a_finding() -> None:
    body = made("scheduling.k8s.io/v1", "PriorityClass", value=5)
    assert found("TF-PRI-1", body) == Verdict()
    [message] = found("TF-PRI-1", body | {"globalDefault": True}).found
    assert message.startswith("globalDefault")


def test_a_priority_class_is_one_that_the_environment_allows() -> None:
    body = made("scheduling.k8s.io/v1", "PriorityClass", value=1_000_000)
    limited = environment(limits={"priority_classes": ["batch"]})
    [message] = found("TF-PRI-1", body, limited).found
    assert message.startswith("metadata.name")
    assert found("TF-PRI-1", {**body, "metadata": {"name": "batch"}}, limited) == Verdict()
    own = environment(priority_classes={"batch": {"value": 1}})
    [message] = found("TF-PRI-1", {**body, "metadata": {"name": "batch"}}, own).found
    assert "which has 1 here" in message


KUEUE = environment(admission="kueue", queues={}, limits={"queues": ["team"]})
LABELS = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}


def test_the_queue_of_a_cron_job_is_that_of_the_jobs_that_it_makes() -> None:
    body = raw_objects(GOOD)["batch/CronJob"]
    body["metadata"] = {"name": "nightly", **LABELS}
    assert len(found("TF-PLC-2", body, KUEUE).found) == 1
    body["spec"]["jobTemplate"]["metadata"] = LABELS
    assert found("TF-PLC-2", body, KUEUE) == Verdict()
    body["spec"]["jobTemplate"]["metadata"] = {"labels": {"kueue.x-k8s.io/queue-name": "other"}}
    [message] = found("TF-QUE-1", body, KUEUE).found
    assert message.startswith("spec.jobTemplate.metadata.labels.kueue.x-k8s.io/queue-name")


def test_a_workload_of_kueue_has_pods_and_a_queue() -> None:
    sets = [{"name": "main", "count": 4, "template": {"spec": {"containers": [ASKING]}}}]
    body = made("kueue.x-k8s.io/v1beta1", "Workload", spec={"queueName": "other", "podSets": sets})
    [message] = found("TF-QUE-1", body, KUEUE).found
    assert message.startswith("spec.queueName")
    assert found("TF-PLC-2", body, KUEUE) == Verdict()
    assert found("TF-RES-2", body, environment(limits={"max_accelerators": 31})).found
    assert found("TF-RES-2", body, environment(limits={"max_accelerators": 32})) == Verdict()
    del body["spec"]["queueName"]
    assert len(found("TF-PLC-2", body, KUEUE).found) == 1


def test_a_job_flow_changes_the_queue_and_the_pods_of_its_jobs() -> None:
    tasks = [
        {"name": "worker", "replicas": 4, "template": {"spec": {"containers": [{"name": "main", "image": ELSEWHERE}]}}}
    ]
    patch: dict[str, Any] = {"jobSpec": {"queue": "night", "tasks": tasks}}
    body = made("flow.volcano.sh/v1alpha1", "JobFlow", spec={"flows": [{"name": "train", "patch": patch}]})
    closed = environment(limits={"queues": ["default"], "registries": ["registry.example.com"]})
    [message] = found("TF-QUE-1", body, closed).found
    assert message.startswith("spec.flows.train.patch.jobSpec.queue")
    assert len(found("TF-IMG-1", body, closed).found) == 1
    assert found("TF-PLC-2", body, closed).found == ()
    assert "the JobTemplate" in found("TF-PLC-2", body, closed).elsewhere[0]
    del patch["jobSpec"]["queue"]
    assert found("TF-QUE-1", body, closed) == Verdict()


def test_the_volumes_of_a_volcano_job_are_volumes_of_its_pods() -> None:
    body = raw_objects(GOOD)["batch.volcano.sh/Job"]
    body["spec"]["volumes"] = [{"mountPath": "/runs", "volumeClaimName": "runs"}]
    assert found("TF-POD-2", body) == Verdict()
    assert len(found("TF-POD-2", body, environment(limits={"volume_types": ["emptyDir"]})).found) == 1


@pytest.mark.parametrize("add_on", ["git-sync", "tensorboard"])
def test_the_image_of_an_add_on_of_kubedl_is_judged(add_on: str) -> None:
    body = raw_objects(GOOD)["training.kubedl.io/PyTorchJob"]
    place = f"kubedl.io/{add_on}-config"
    body["metadata"]["annotations"] = {place: f'{{"image": "{ELSEWHERE}"}}'}
    [message] = found("TF-IMG-1", body).found
    assert message.startswith(f"metadata.annotations.{place}.image: ")
    body["metadata"]["annotations"] = {place: f'{{"image": "{GOOD}"}}'}
    assert found("TF-IMG-1", body) == Verdict()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"logDir": "/logs"}'])
def test_an_add_on_without_an_image_is_read(text: str) -> None:
    body = raw_objects(GOOD)["training.kubedl.io/PyTorchJob"]
    body["metadata"]["annotations"] = {"kubedl.io/tensorboard-config": text}
    for rule in RULES:
        said = verdict(rule, Resource("train", body), REGISTRY, TODAY, Brought()).found
        assert not any("cannot read" in message for message in said)


KEY = {"name": "devices", "key": "visible"}


@pytest.mark.parametrize(("parts", "where"), [
    ({"envFrom": [{"configMapRef": {"name": "devices"}}]}, "spec.containers.main.envFrom"),
    ({"envFrom": [{"secretRef": {"name": "devices"}}]}, "spec.containers.main.envFrom"),
    ({"env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": KEY}}]}, "spec.containers.main.env.MODE"),
    ({"env": [{"name": "MODE", "valueFrom": {"secretKeyRef": KEY}}, {"name": "A", "value": "b"}]}, ""),
    ({}, ""),
])  # fmt: skip
def test_variables_from_an_object_that_another_stack_may_make_are_told(parts: dict[str, Any], where: str) -> None:
    container = {"name": "main", "image": GOOD, **parts}
    body = made("v1", "Pod", spec={"containers": [container]})
    told = [*unseen(Resource("x", body))]
    assert [where in each and "devices" in each for each in told] == ([True] if where else [])
    body["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "trainform"}
    ours = [*unseen(Resource("x", body, COMPONENT.format("x")))]
    assert ours == (told if "envFrom" in parts else []), "what fields make, `check` tells"
