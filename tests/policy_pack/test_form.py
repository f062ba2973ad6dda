"""Pods of kinds that nobody has described: containers without a pod spec around them, and parts of pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_pack.judging import ELSEWHERE, GOOD, REGISTRY, found, plain_with_unknown
from trainform.policy_pack.judgement import Resource, Verdict, unseen


def workflow(**template: Any) -> dict[str, Any]:
    """A Workflow of Argo with one template."""
    spec = {"entrypoint": "main", "templates": [{"name": "main", **template}]}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "train"}, "spec": spec}


def task(**step: Any) -> dict[str, Any]:
    """A Task of Tekton with one step."""
    spec = {"steps": [{"name": "build", **step}]}
    return {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "train"}, "spec": spec}


BARE = {
    "spec.templates.main.container": lambda image: workflow(container={"image": image, "command": ["train"]}),
    "spec.templates.main.script": lambda image: workflow(script={"image": image, "source": "train"}),
    "spec.templates.main.sidecars.log": lambda image: workflow(sidecars=[{"name": "log", "image": image}]),
    "spec.steps.build": lambda image: task(image=image, script="train"),
}


@pytest.mark.parametrize("place", BARE)
def test_a_container_without_a_pod_around_it_is_judged_at_its_own_place(place: str) -> None:
    [message] = found("TF-IMG-1", BARE[place](ELSEWHERE)).found
    assert message.startswith(f"{place}.image: ")
    assert found("TF-IMG-1", BARE[place](GOOD)) == Verdict()
    [not_known] = found("TF-IMG-1", plain_with_unknown(BARE[place]("UNKNOWN"))).not_known
    assert f"{place.rpartition('.')[2]}.image" in not_known or "0.image" in not_known


@pytest.mark.parametrize("place", BARE)
def test_what_is_beside_such_a_container_is_told_and_no_finding(place: str) -> None:
    body = BARE[place](GOOD)
    assert found("TF-PLC-2", body).found == ()
    assert "what runs objects of this kind may have it" in found("TF-PLC-2", body).elsewhere[0]
    assert [*unseen(Resource("train", body))] == [
        "the pods are held to no rule as far as what runs objects of this kind has them"
    ]


@pytest.mark.parametrize("patch", ['{"hostNetwork": true}', "UNKNOWN"])
def test_a_patch_of_pods_as_text_is_told(patch: str) -> None:
    body = workflow(container={"image": GOOD}, podSpecPatch=patch)
    body["spec"]["podSpecPatch"] = patch
    told = [*unseen(Resource("train", plain_with_unknown(body)))]
    assert told[-2:] == [
        "no rule judges the patch of pods that spec.templates.0.podSpecPatch is",
        "no rule judges the patch of pods that spec.podSpecPatch is",
    ]
    body["spec"]["podSpecPatch"] = ""
    assert len([*unseen(Resource("train", plain_with_unknown(body)))]) == 2


def test_the_secret_of_such_a_container_is_found_once() -> None:
    body = task(image=GOOD, env=[{"name": "HF_TOKEN", "value": "hunter2-of-mine"}])
    [message] = found("TF-SEC-1", body).found
    assert message.startswith("spec.steps.build.env.HF_TOKEN.value: ")


HOST_PATH = {"name": "etc", "hostPath": {"path": "/etc"}}


@pytest.mark.parametrize(("code", "part", "where"), [
    ("TF-POD-1", {"hostPID": True}, "hostPID"),
    ("TF-POD-1", {"volumes": [HOST_PATH]}, "volumes.etc.hostPath"),
    ("TF-PLC-1", {"nodeName": "node-1"}, "nodeName"),
    ("TF-PLC-5", {"tolerations": [{"operator": "Exists"}]}, "tolerations[0]"),
])  # fmt: skip
def test_parts_of_pods_beside_such_a_container_are_judged_too(code: str, part: dict[str, Any], where: str) -> None:
    body = workflow(container={"image": GOOD})
    assert found(code, body).found == ()
    body["spec"] |= part
    [message] = found(code, body).found
    assert message.startswith(f"spec.{where}")


def test_the_host_is_opened_nowhere_in_a_kind_that_nobody_has_described() -> None:
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "train"}}
    body["spec"] = {"taskRef": {"name": "build"}, "podTemplate": {"hostPID": True, "dnsPolicy": "Default"}}
    [message] = found("TF-POD-1", body).found
    assert message.startswith("spec.podTemplate.hostPID: ")


@pytest.mark.parametrize(("version", "kind", "spec"), [
    ("v1", "ConfigMap", {"data": {"image": ELSEWHERE, "command": "train"}}),
    ("example.com/v1", "Schema", {"properties": {"image": {"type": "string"}, "command": {}}}),
    ("example.com/v1", "Chart", {"image": {"repository": "other.example.com/ai", "tag": "1"}, "resources": {}}),
    ("example.com/v1", "Machine", {"image": "ubuntu-24.04", "size": "large"}),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", {"priorityClassName": "high", "queue": "default"}),
])  # fmt: skip
def test_what_only_looks_like_a_container_is_none(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "x"},
        **(spec if "data" in spec else {"spec": spec}),
    }
    assert found("TF-IMG-1", body, REGISTRY) == Verdict()
    assert [told for told in unseen(Resource("x", body)) if "the pods" in told] == []


def test_the_place_of_a_pod_spec_is_its_own() -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Runner", "metadata": {"name": "x"}}
    body["spec"] = {"podSpec": {"containers": [{"name": "main", "image": ELSEWHERE}]}}
    [message] = found("TF-IMG-1", body).found
    assert message.startswith("spec.podSpec.containers.main.image: ")
