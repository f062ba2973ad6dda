"""Workloads from a plan; `tests/engine` tests those from a real cluster."""

from __future__ import annotations

from typing import Any

from tests.local.rehearsal.workloads import pod
from tests.support.samples import plan
from trainform.local.rehearsal.sources import PLACEHOLDER_VALUE, references, workload_of_plan
from trainform.local.rehearsal.workload import pod_name, selects, short_name
from trainform.manifests.ssh_files import USER_KEY

WORLD: dict[str, Any] = {
    "master": {"replicas": 1, "accelerators": {"a800": 8}},
    "worker": {"replicas": 3, "accelerators": {"a800": 8}},
}
MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2, "accelerators": {"a800": 8}}},
}


def test_the_pods_of_a_plan() -> None:
    made = plan(roles=WORLD)
    workload = workload_of_plan(made)
    assert [pod_name(pod) for pod in workload.pods] == [pod.name for pod in made.pods()]
    assert [short_name(pod) for pod in workload.pods] == ["master-0", "worker-0", "worker-1", "worker-2"]
    assert (workload.experiment, workload.namespace, workload.ends_with) == ("sdxl-lora", "ai-namespace", frozenset())
    assert made.launch_files in workload.config_maps
    assert workload.notes == ()


def test_services_that_the_operator_makes() -> None:
    made = plan(backend="kubeflow", roles=WORLD)
    workload = workload_of_plan(made)
    assert {service["metadata"]["name"] for service in workload.services} == {pod.name for pod in made.pods()}
    for service in workload.services:
        selected = [pod_name(pod) for pod in workload.pods if selects(service, pod)]
        assert selected == [service["metadata"]["name"]]


def test_the_launcher_ends_the_job_and_has_keys_of_its_own() -> None:
    made = plan(**MPI, restart="2 times")
    first, second = workload_of_plan(made), workload_of_plan(made)
    (launcher,) = (pod.name for pod in made.pods() if pod.role == "launcher")
    assert first.ends_with == {launcher}
    assert workload_of_plan(plan(**MPI, policies=[])).ends_with == frozenset(), "then nothing ends it while others run"
    assert first.restarts == 2
    assert made.ssh is not None
    keys = [workload.secrets[made.ssh.secret][USER_KEY] for workload in (first, second)]
    assert keys[0].startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert keys[0] != keys[1]


def test_missing_secrets_and_config_maps_get_stand_ins() -> None:
    workload = workload_of_plan(
        plan(
            env={
                "HF_TOKEN": {"secret": {"name": "hf", "key": "token"}},
                "N": {"config_map": {"name": "tuning", "key": "n"}},
            }
        )
    )
    assert workload.secrets["hf"] == {"token": PLACEHOLDER_VALUE.encode()}
    assert workload.config_maps["tuning"] == {"n": PLACEHOLDER_VALUE}
    assert list(workload.notes) == [
        f"ConfigMap tuning is not on this machine, so a stand-in takes its place: n = {PLACEHOLDER_VALUE}",
        f"Secret hf is not on this machine, so a stand-in takes its place: token = {PLACEHOLDER_VALUE}",
    ]


def test_references_of_pods() -> None:
    volumes = [
        {"name": "ssh", "secret": {"secretName": "ssh", "optional": True}},
        {
            "name": "all",
            "projected": {"sources": [{"configMap": {"name": "launch", "items": [{"key": "a", "path": "b"}]}}]},
        },
        {
            "name": "token",
            "projected": {"sources": [{"serviceAccountToken": {}}, {"configMap": {"name": "kube-root-ca.crt"}}]},
        },
    ]
    init = {
        "name": "code", "image": "x", "envFrom": [{"secretRef": {"name": "git"}}, {"configMapRef": {"name": "all"}}],
    }  # fmt: skip
    env = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "api-key"}}},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "value": "c"},
    ]
    found = references([pod("worker-0", volumes=volumes, initContainers=[init], main={"env": env})])
    assert [(each.kind, each.name, each.keys, each.optional) for each in found] == [
        ("Secret", "git", (), False),
        ("ConfigMap", "all", (), False),
        ("Secret", "wandb", ("api-key",), False),
        ("Secret", "ssh", (), True),
        ("ConfigMap", "launch", ("a",), False),
    ]
