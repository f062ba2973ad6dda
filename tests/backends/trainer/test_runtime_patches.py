"""A user's `runtimePatches` of a TrainJob: what Trainer's webhook refuses, and what would make another job than the planned one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, reasons

PATH = "manifest_overrides.job.spec.runtimePatches"
ROLES: dict[str, Any] = {
    "worker": {"replicas": 2},
    "watcher": {"replicas": 1, "ranked": False, "command": ["python", "watch.py"]},
}
STEP: dict[str, Any] = {"name": "data", "command": ["python", "fetch.py"], "on": "each-pod"}
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
QUEUES, KUEUES = "scheduling.volcano.sh/queue-name", "kueue.x-k8s.io/queue-name"
MOUNT = {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}
VOLUME = {"volumes": [{"name": "cache", "emptyDir": {}}]}


def found_in(template: dict[str, Any], cluster: dict[str, Any] | None = None) -> dict[str, str]:
    """Path, without what all have in common, and reason of each problem."""
    patch = {"manager": "example.com/mine", "trainingRuntimeSpec": {"template": template}}
    found = reasons(
        environment(**({} if cluster is None else cluster)),
        backend="trainer",
        roles=ROLES,
        prepare=[STEP],
        manifest_overrides={"job": {"spec": {"runtimePatches": [patch]}}},
    )
    return {path.removeprefix(f"{PATH}[0].trainingRuntimeSpec.template."): reason for path, reason in found.items()}


def of_job(job: dict[str, Any], name: str = "node") -> dict[str, Any]:
    return {"spec": {"replicatedJobs": [{"name": name, "template": job}]}}


def of_pods(spec: dict[str, Any], name: str = "node") -> dict[str, Any]:
    return of_job({"spec": {"template": {"spec": spec}}}, name)


@pytest.mark.parametrize("cluster", [{}, {"admission": "kueue", "queues": {}}], ids=["volcano", "kueue"])
@pytest.mark.parametrize(("field", "key"), [("annotations", QUEUES), ("labels", KUEUES)])
def test_the_queue_is_the_plans(cluster: dict[str, Any], field: str, key: str) -> None:
    assert found_in({"metadata": {field: {key: "night"}}}, cluster)[f"metadata.{field}.{key}"] == (
        "the plan decides the queue"
    )


@pytest.mark.parametrize(("name", "value"), [("watcher", "trainer"), ("node", "model-initializer")])
def test_which_pods_are_counted_is_the_plans(name: str, value: str) -> None:
    """With the label Trainer gives the job's number of nodes to the watcher."""
    found = found_in(of_job({"metadata": {"labels": {ANCESTOR: value}}}, name))
    assert found == {
        f"spec.replicatedJobs.{name}.template.metadata.labels.{ANCESTOR}": "by this label Trainer finds the replicated job that a TrainJob counts"
    }


def test_labels_that_are_jobsets() -> None:
    """The API server refuses a Job whose pods have such a label, so there would never be a pod."""
    found = found_in(of_job({"spec": {"template": {"metadata": {"labels": {"job-name": "mine"}}}}}))
    assert found == {
        "spec.replicatedJobs.node.template.spec.template.metadata.labels.job-name": "the key is set by JobSet itself"
    }


@pytest.mark.parametrize(
    ("template", "path", "reason"),
    [
        (of_pods({"serviceAccountName": "mine"}, "worker"), "worker.name", "the runtime has no such replicated job"),
        (of_pods({"containers": [{"name": "main", **MOUNT}]}), "node.template.spec.template.spec.containers.main.name", "the runtime has no such container there"),
        (of_pods({"initContainers": [{"name": "code", **MOUNT}]}), "node.template.spec.template.spec.initContainers.code.name", "the runtime has no such container there"),
        (of_pods({"containers": [{"name": "node", "env": [{"name": "A", "value": "b"}]}]}), "node.template.spec.template.spec.containers.node.env", "Trainer takes no variables for node from a patch"),
    ],
)  # fmt: skip
def test_what_trainers_webhook_refuses(template: dict[str, Any], path: str, reason: str) -> None:
    assert found_in(template) == {f"spec.replicatedJobs.{path}": reason}


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": {"labels": {"example.com/team": "vision"}}},
        of_job({"metadata": {"labels": {"example.com/team": "vision"}}}),
        of_pods({"serviceAccountName": "mine"}, "watcher"),
        of_pods({**VOLUME, "containers": [{"name": "node", **MOUNT}]}),
        of_pods({**VOLUME, "initContainers": [{"name": "data", **MOUNT, "env": [{"name": "A", "value": "b"}]}]}),
    ],
    ids=str,
)
def test_what_is_the_users(template: dict[str, Any]) -> None:
    assert found_in(template) == {}
