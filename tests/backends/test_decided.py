"""What the plan has decided: no merge patch changes it, and no label or annotation of the user's is lost without a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import environment, experiment, reasons
from trainform.backends.decided import changes, overwritten
from trainform.backends.job import job_problems
from trainform.plan import build_plan
from trainform.spec.environment import Environment

VOLCANO, KUEUE = environment(), environment(admission="kueue", queues={})
VOLCANOS_QUEUE, KUEUES_QUEUE = "scheduling.volcano.sh/queue-name", "kueue.x-k8s.io/queue-name"
GANG = "scheduling.k8s.io/group-name"
POOL = {"master": {"replicas": 1}, "worker": {"replicas": 3}}


def test_changes() -> None:
    rendered = {"spec": {"queue": "team", "tasks": [{"name": "ps", "replicas": 2}, {"name": "worker", "replicas": 7}]}}
    patched = {"spec": {"queue": "night", "tasks": [{"name": "worker", "replicas": 7}, {"name": "log", "replicas": 1}]}}
    assert [*changes(["spec.queue", "spec.tasks.*.replicas", "spec.suspend"], rendered, patched)] == [
        ("spec.queue", "would be night, and the plan says team"),
        ("spec.tasks.ps", "would be gone, and the plan has it"),
        ("spec.tasks.log", "would be new, and the plan has none"),
    ]
    bare: dict[str, Any] = {"spec": {"tasks": [{"name": "ps"}]}}
    assert [*changes(["spec.queue", "spec.tasks.*.replicas"], rendered, bare)] == [
        ("spec.queue", "would be gone, and the plan says team"),
        ("spec.tasks.ps.replicas", "would be gone, and the plan says 2"),
        ("spec.tasks.worker", "would be gone, and the plan has it"),
    ]
    assert [*changes(["spec.queue"], bare, rendered)] == [
        ("spec.queue", "would be team, and the plan says nothing of it")
    ]
    assert [*changes(["spec.queue", "spec.tasks.*.replicas"], rendered, rendered)] == []


@pytest.mark.parametrize(
    ("backend", "cluster", "key", "patch", "path"),
    [
        ("jobset", VOLCANO, "pod-group", {"spec": {"queue": "night"}}, "spec.queue"),
        ("jobset", VOLCANO, "pod-group", {"spec": {"minMember": 1}}, "spec.minMember"),
        ("jobset", VOLCANO, "job", {"metadata": {"labels": {KUEUES_QUEUE: "night"}}}, f"metadata.labels.{KUEUES_QUEUE}"),
        ("jobset", KUEUE, "job", {"metadata": {"labels": {KUEUES_QUEUE: "night"}}}, f"metadata.labels.{KUEUES_QUEUE}"),
        ("jobset", KUEUE, "job", {"metadata": {"labels": {KUEUES_QUEUE: None}}}, f"metadata.labels.{KUEUES_QUEUE}"),
        ("jobset", VOLCANO, "job", {"spec": {"network": {"subdomain": "other"}}}, "spec.network.subdomain"),
        ("jobset", VOLCANO, "job", {"spec": {"replicatedJobs": {"worker": {"replicas": 2}}}}, "spec.replicatedJobs.worker.replicas"),
        ("jobset", VOLCANO, "job", {"spec": {"replicatedJobs": {"worker": {"template": {"spec": {"completions": 9}}}}}}, "spec.replicatedJobs.worker.template.spec.completions"),
        ("trainer", KUEUE, "job", {"metadata": {"labels": {KUEUES_QUEUE: "night"}}}, f"metadata.labels.{KUEUES_QUEUE}"),
        ("trainer", VOLCANO, "runtime", {"spec": {"template": {"metadata": {"annotations": {VOLCANOS_QUEUE: "night"}}}}},
         f"spec.template.metadata.annotations.{VOLCANOS_QUEUE}"),
        ("trainer", VOLCANO, "runtime", {"spec": {"template": {"spec": {"network": {"subdomain": "other"}}}}}, "spec.template.spec.network.subdomain"),
        ("kubeflow", VOLCANO, "job", {"metadata": {"annotations": {VOLCANOS_QUEUE: "night"}}}, f"metadata.annotations.{VOLCANOS_QUEUE}"),
        ("kubeflow", VOLCANO, "job", {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "night"}}}}, "spec.runPolicy.schedulingPolicy.queue"),
        ("kubeflow", VOLCANO, "job", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 9}}}}, "spec.pytorchReplicaSpecs.Worker.replicas"),
        ("kubedl", VOLCANO, "job", {"metadata": {"annotations": {"kubedl.io/network-mode": "host"}}}, "metadata.annotations.kubedl.io/network-mode"),
        ("kubedl", VOLCANO, "job", {"spec": {"schedulingPolicy": {"minAvailable": 1}}}, "spec.schedulingPolicy.minAvailable"),
        ("volcano", VOLCANO, "job", {"spec": {"tasks": {"worker": {"minAvailable": 1}}}}, "spec.tasks.worker.minAvailable"),
    ],
)  # fmt: skip
def test_patches(backend: str, cluster: Environment, key: str, patch: dict[str, Any], path: str) -> None:
    said: dict[str, Any] = {"backend": backend, "queue": "default", "roles": POOL}
    assert reasons(cluster, **said) == {}
    found = reasons(cluster, **said, manifest_overrides={key: patch})
    assert found.keys() == {f"manifest_overrides.{key}.{path}"}
    assert "the plan says" in found[f"manifest_overrides.{key}.{path}"]


@pytest.mark.parametrize(
    ("backend", "pods"),
    [
        ("volcano", ("job", "tasks", "worker")),
        ("jobset", ("job", "replicatedJobs", "worker", "template", "spec")),
        ("trainer", ("runtime", "template", "spec", "replicatedJobs", "worker", "template", "spec")),
        ("kubeflow", ("job", "pytorchReplicaSpecs", "Worker")),
        ("kubedl", ("job", "pytorchReplicaSpecs", "Worker")),
    ],
)
@pytest.mark.parametrize("label", ["app.kubernetes.io/component", "app.kubernetes.io/name", "trainform.dev/revision"])
def test_labels_by_which_pods_are_found(backend: str, pods: tuple[str, ...], label: str) -> None:
    key, *words = pods
    patch: dict[str, Any] = {"template": {"metadata": {"labels": {label: "mine"}}}}
    for word in reversed(words):
        patch = {word: patch}
    found = reasons(backend=backend, roles=POOL, manifest_overrides={key: {"spec": patch}})
    (path,) = found
    assert path == f"manifest_overrides.{key}.spec.{'.'.join(words)}.template.metadata.labels.{label}"
    assert found[path].startswith("would be mine, and the plan says ")


def test_the_queue_of_a_job_on_a_named_runtime() -> None:
    said: dict[str, Any] = {
        "backend": "trainer",
        "runtime": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"},
    }
    gone = {"job": {"spec": {"runtimePatches": None}}}
    found = reasons(**said, roles={"node": {"replicas": 2}}, manifest_overrides=gone)
    assert found == {"manifest_overrides.job.spec.runtimePatches.0": "would be gone, and the plan has it"}


@pytest.mark.parametrize(
    ("backend", "key", "by"),
    [
        ("volcano", "volcano.sh/task-index", "Volcano"),
        ("volcano", GANG, "Volcano"),
        ("jobset", "job-name", "JobSet"),
        ("jobset", "batch.kubernetes.io/job-completion-index", "JobSet"),
        ("jobset", "jobset.sigs.k8s.io/jobset-name", "JobSet"),
        ("jobset", GANG, "trainform"),
        ("trainer", "controller-uid", "JobSet"),
        ("trainer", GANG, "trainform"),
        ("kubeflow", "training.kubeflow.org/replica-index", "training-operator"),
        ("kubedl", "replica-type", "KubeDL"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_keys_that_an_operator_writes_itself(backend: str, key: str, by: str, field: str) -> None:
    written: list[tuple[str, dict[str, Any]]] = [
        (field, {field: {key: "mine"}}),
        (f"pod_overrides.metadata.{field}", {"pod_overrides": {"metadata": {field: {key: "mine"}}}}),
    ]
    for path, said in written:
        found = reasons(backend=backend, roles={**POOL, "worker": {"replicas": 3, **said}})
        assert found == {f"roles.worker.{path}.{key}": f"is set by {by} itself"}


def test_keys_are_whole_names_and_prefixes_end_with_a_slash() -> None:
    labels = {"job-name-of-mine": "a", "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "job": "b"}
    plan = build_plan(experiment(roles={"worker": {"replicas": 2, "labels": labels}}), VOLCANO)
    assert [*overwritten(plan, "JobSet", ["job-name", "jobset.sigs.k8s.io/"])] == []
    assert [problem.path for problem in overwritten(plan, "JobSet", ["job"])] == ["roles.worker.labels.job"]


@pytest.mark.parametrize(
    ("backend", "cluster", "said", "fix"),
    [
        ("kubeflow", VOLCANO, {"annotations": {VOLCANOS_QUEUE: "night"}}, "remove it; write `queue`"),
        ("kubedl", VOLCANO, {"annotations": {"kubedl.io/network-mode": "host"}}, "remove it; write `network: {host: true}`"),
        ("jobset", KUEUE, {"labels": {KUEUES_QUEUE: "night"}}, "remove it; write `queue`"),
        ("trainer", KUEUE, {"labels": {KUEUES_QUEUE: "night"}}, "remove it; write `queue`"),
        ("jobset", VOLCANO, {"labels": {KUEUES_QUEUE: "night"}}, "remove it, or use an environment with Kueue's admission"),
    ],
)  # fmt: skip
def test_what_a_field_says_no_label_says_too(
    backend: str, cluster: Environment, said: dict[str, Any], fix: str
) -> None:
    (problem,) = job_problems(experiment(backend=backend, queue="default", roles=POOL, **said), cluster)
    ((field, keys),) = said.items()
    ((key, value),) = keys.items()
    assert (problem.path, problem.value, problem.fix) == (f"{field}.{key}", value, fix)
