"""Merge patches of objects that decide what the plan was worked out from are refused, each at its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.planned_jobs import BEHIND, CLUSTER, NODE, RICH, SSH
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment

FREE: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("volcano", RICH, "job", {"spec": {"plugins": {"ray": ["--port=6379"]}, "maxRetry": 9, "minSuccess": 1}}),
    ("volcano", RICH, "job", {"spec": {"policies": [{"event": "PodFailed", "action": "RestartJob"}]}}),
    ("volcano", RICH, "job", {"spec": {"tasks": {"worker": {"dependsOn": {"name": ["master"]},
                        "topologyPolicy": "none"}}}}),
    ("volcano", RICH, "launch-script", {"immutable": None}),
    ("jobset", RICH, "job", {"spec": {"failurePolicy": {"maxRestarts": 4,
                    "rules": [{"name": "host", "action": "RestartJobSet"}]}}}),
    ("jobset", RICH, "job", {"spec": {"failurePolicy": {"restartStrategy": "InPlaceRestart"},
                "managedBy": "kueue.x-k8s.io/multikueue"}}),
    ("jobset", RICH, "job", {"spec": {"replicatedJobs": {"worker": {"template": {"spec": {"backoffLimit": 9,
                                "podFailurePolicy": {"rules": []}}}}}}}),
    ("trainer", NODE, "job", {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}),
    ("kubeflow", RICH, "job", {"spec": {"runPolicy": {"backoffLimit": 1, "managedBy": "kueue.x-k8s.io/multikueue"}}}),
    ("kubedl", RICH, "job", {"spec": {"cacheBackend": {"name": "hot"}}}),
]  # fmt: skip
"""What clusters run, and the plan says nothing of."""


OF_JOBS: list[tuple[str, dict[str, Any], str, dict[str, Any], str]] = [
    ("volcano", RICH, "job", {"spec": {"plugins": None}}, "spec.plugins"),
    ("volcano", RICH, "job", {"spec": {"plugins": {"svc": []}}}, "spec.plugins.svc"),
    ("volcano", RICH, "job", {"spec": {"schedulerName": "other"}}, "spec.schedulerName"),
    ("volcano", RICH, "job", {"spec": {"ttlSecondsAfterFinished": 5}}, "spec.ttlSecondsAfterFinished"),
    (
        "volcano",
        RICH,
        "job",
        {"spec": {"tasks": {"worker": {"template": {"spec": {"hostname": "mine"}}}}}},
        "spec.tasks.worker.template.spec.hostname",
    ),
    (
        "volcano",
        RICH,
        "job",
        {"spec": {"tasks": {"worker": {"template": {"spec": {"nodeName": "node-1"}}}}}},
        "spec.tasks.worker.template.spec.nodeName",
    ),
    (
        "volcano",
        RICH,
        "job",
        {"spec": {"tasks": {"worker": {"template": {"metadata": {"labels": {"trainform.dev/revision": "1f3a9c"}}}}}}},
        "spec.tasks.worker.template.metadata.labels.trainform.dev/revision",
    ),
    ("volcano", RICH, "service", {"spec": {"type": "ExternalName"}}, "spec.type"),
    ("volcano", RICH, "service", {"spec": {"clusterIP": None}}, "spec.clusterIP"),
    ("volcano", RICH, "service", {"spec": {"publishNotReadyAddresses": False}}, "spec.publishNotReadyAddresses"),
    ("volcano", BEHIND, "service-master-0", {"spec": {"type": "ExternalName"}}, "spec.type"),
    ("volcano", RICH, "launch-script", {"data": {"launch.sh": "exec true"}}, "data.launch.sh"),
    ("volcano", RICH, "claim-runs", {"spec": {"volumeMode": "Block"}}, "spec.volumeMode"),
    ("jobset", RICH, "pod-group", {"spec": {"minTaskMember": {"worker": 9}}}, "spec.minTaskMember.worker"),
    ("jobset", RICH, "job", {"spec": {"network": {"enableDNSHostnames": False}}}, "spec.network.enableDNSHostnames"),
    (
        "jobset",
        RICH,
        "job",
        {"spec": {"replicatedJobs": {"worker": {"template": {"spec": {"completionMode": "NonIndexed"}}}}}},
        "spec.replicatedJobs.worker.template.spec.completionMode",
    ),
    (
        "trainer",
        SSH,
        "runtime",
        {"spec": {"mlPolicy": {"mpi": {"runLauncherAsNode": True}}}},
        "spec.mlPolicy.mpi.runLauncherAsNode",
    ),
    (
        "trainer",
        NODE,
        "runtime",
        {"spec": {"mlPolicy": {"mpi": {"runLauncherAsNode": False}}}},
        "spec.mlPolicy.mpi.runLauncherAsNode",
    ),
    (
        "trainer",
        NODE,
        "runtime",
        {"spec": {"mlPolicy": {"mpi": {"numProcPerNode": 4}}}},
        "spec.mlPolicy.mpi.numProcPerNode",
    ),
    ("trainer", RICH, "runtime", {"spec": {"mlPolicy": {"torch": {}}}}, "spec.mlPolicy.torch"),
    ("trainer", NODE, "job", {"spec": {"trainer": {"command": ["sleep"]}}}, "spec.trainer.command"),
    (
        "trainer",
        NODE,
        "job",
        {"spec": {"trainer": {"env": [{"name": "NPROC_PER_NODE", "value": "3"}]}}},
        "spec.trainer.env",
    ),
    ("kubeflow", SSH, "job", {"spec": {"slotsPerWorker": 4}}, "spec.slotsPerWorker"),
    (
        "kubeflow",
        RICH,
        "job",
        {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "night"}}}},
        "spec.runPolicy.schedulingPolicy.queue",
    ),
    ("kubeflow", RICH, "job", {"spec": {"runPolicy": None}}, "spec.runPolicy"),
    ("kubedl", RICH, "job", {"spec": {"schedulingPolicy": {"queue": "night"}}}, "spec.schedulingPolicy.queue"),
    ("trainer", NODE, "job", {"spec": {"trainer": {"numProcPerNode": None}}}, "spec.trainer.numProcPerNode"),
    ("trainer", NODE, "job", {"spec": {"runtimeRef": {"kind": "ClusterTrainingRuntime"}}}, "spec.runtimeRef.kind"),
    (
        "trainer",
        NODE,
        "runtime",
        {"spec": {"template": {"spec": {"replicatedJobs": {"node": None}}}}},
        "spec.template.spec.replicatedJobs.node",
    ),
    ("kubeflow", SSH, "job", {"spec": {"mainContainer": "log"}}, "spec.mainContainer"),
    ("kubeflow", RICH, "job", {"spec": {"elasticPolicy": {}}}, "spec.elasticPolicy"),
    ("kubeflow", RICH, "job", {"spec": {"pytorchReplicaSpecs": {"X": {}}}}, "spec.pytorchReplicaSpecs.X"),
    (
        "kubeflow",
        RICH,
        "job",
        {"spec": {"pytorchReplicaSpecs": {"Worker": {"restartPolicy": "Always"}}}},
        "spec.pytorchReplicaSpecs.Worker.restartPolicy",
    ),
    (
        "kubeflow",
        RICH,
        "job",
        {
            "spec": {
                "pytorchReplicaSpecs": {
                    "Worker": {
                        "template": {"spec": {"containers": {"pytorch": {"env": {"MASTER_PORT": {"value": "1"}}}}}}
                    }
                }
            }
        },
        "spec.pytorchReplicaSpecs.Worker.template.spec.containers.pytorch.env.MASTER_PORT",
    ),
    (
        "kubedl",
        RICH,
        "job",
        {
            "spec": {
                "pytorchReplicaSpecs": {
                    "Worker": {
                        "template": {"spec": {"containers": {"pytorch": {"env": {"WORLD_SIZE": {"value": "1"}}}}}}
                    }
                }
            }
        },
        "spec.pytorchReplicaSpecs.Worker.template.spec.containers.pytorch.env.WORLD_SIZE",
    ),
]


@pytest.mark.parametrize(("backend", "parts", "key", "patch", "where"), OF_JOBS, ids=str)
def test_objects_are_the_planned_ones(
    backend: str, parts: dict[str, Any], key: str, patch: dict[str, Any], where: str
) -> None:
    made = experiment(backend=backend, **parts, manifest_overrides={key: patch})
    found = {problem.path for problem in job_problems(made, CLUSTER)}
    assert found - {f"manifest_overrides.{key}"} == {f"manifest_overrides.{key}.{where}"}  # the rules name the patch


@pytest.mark.parametrize(("backend", "parts", "key", "patch"), FREE, ids=str)
def test_everything_else_may_be_patched(backend: str, parts: dict[str, Any], key: str, patch: dict[str, Any]) -> None:
    made = experiment(backend=backend, **parts, manifest_overrides={key: patch})
    assert [str(problem) for problem in job_problems(made, CLUSTER)] == []


def test_a_named_runtime_that_only_the_cluster_has() -> None:
    """The limits judge an image; command and variables are the plan's."""
    parts: dict[str, Any] = {
        "backend": "trainer",
        "runtime": {"name": "shared", "kind": "ClusterTrainingRuntime"},
        "roles": {"node": {"replicas": 2}},
    }
    for field, value in (("command", ["sleep"]), ("env", [{"name": "A", "value": "b"}])):
        patch = {"job": {"spec": {"trainer": {field: value}}}}
        (problem,) = job_problems(experiment(**parts, manifest_overrides=patch), environment())
        assert problem.path == f"manifest_overrides.job.spec.trainer.{field}"


@pytest.mark.parametrize(
    ("backend", "key", "patch", "where"),
    [
        ("kubedl", "job", {"spec": {"cronPolicy": {"schedule": "* * * * *"}}}, "job.spec.cronPolicy.schedule"),
        ("kubeflow", "job", {"spec": {"elasticPolicy": {"metrics": []}}}, "job.spec.elasticPolicy.metrics"),
        (
            "volcano",
            "claim-runs",
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "gold"}}},
            "claim-runs.metadata.annotations.volume.beta.kubernetes.io/storage-class",
        ),
        ("jobset", "service", {"metadata": {"namespace": "other"}}, "service.metadata.namespace"),
    ],
)
def test_what_would_escape_the_plan_or_its_limits(backend: str, key: str, patch: dict[str, Any], where: str) -> None:
    problems = job_problems(experiment(backend=backend, **RICH, manifest_overrides={key: patch}), CLUSTER)
    assert [problem.path for problem in problems] == [f"manifest_overrides.{where}"]
