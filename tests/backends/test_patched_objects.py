"""What the plan has decided: no merge patch changes it, and no label or annotation of the user's is lost without a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, reasons
from trainform.backends.patched_objects import changes, overwritten
from trainform.backends.table import BACKENDS
from trainform.objects import draft_plan
from trainform.spec.environment import Environment
from trainform.spec.merge_patch import merge_patch

VOLCANO, KUEUE = environment(), environment(admission="kueue", queues={})
VOLCANOS_QUEUE, KUEUES_QUEUE = "scheduling.volcano.sh/queue-name", "kueue.x-k8s.io/queue-name"
GANG = "scheduling.k8s.io/group-name"
POOL = {"master": {"replicas": 1}, "worker": {"replicas": 3}}


RENDERED: dict[str, Any] = {
    "metadata": {"labels": {"team": "vision"}, "annotations": {}},
    "spec": {"queue": "team", "policies": [{"event": "a"}], "tasks": [{"name": "ps", "replicas": 2}, {"name": "worker", "replicas": 7}]},
}  # fmt: skip
ADDS, REMOVES = "the patch adds a part that the plan does not have", "the patch removes a part that the plan needs"


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ({}, {}),
        ({"spec": {"queue": "night"}}, {"spec.queue": "the patch makes the value night, and the plan needs team"}),
        ({"spec": {"queue": "a\nb"}}, {"spec.queue": "the patch makes the value a…, and the plan needs team"}),
        ({"spec": {"queue": None}}, {"spec.queue": "the patch makes the value empty, and the plan needs team"}),
        ({"spec": {"suspend": False}}, {"spec.suspend": "the patch makes the value false, and the plan needs none"}),
        ({"spec": {"plugins": {"env": []}}}, {"spec.plugins": ADDS}),
        ({"spec": {"plugins": {}}}, {"spec.plugins": ADDS}),
        ({"spec": {"tasks": {"ps": None, "log": {"replicas": 1}}}}, {"spec.tasks.ps": REMOVES, "spec.tasks.log": ADDS}),
        ({"spec": {"tasks": [{"name": "worker", "replicas": 7}]}}, {"spec.tasks.ps": REMOVES}),
        ({"spec": {"tasks": {"ps": {"replicas": 3}}}}, {"spec.tasks.ps.replicas": "the patch makes the value 3, and the plan needs 2"}),
        ({"spec": {"tasks": [{"name": "ps"}, {"name": "ps"}]}}, {"spec.tasks": "the patch changes a part that the plan needs"}),
        ({"spec": {"tasks": {"ps": {"topology": "none"}}}}, {}),
        ({"spec": {"estimate": {"at": 1}}}, {}),
        ({"spec": {"policies": [{"event": "a"}, {"event": "b"}]}}, {}),
        ({"spec": {"policies": [{"event": "b"}, {"event": "a"}]}}, {"spec.policies": "the patch changes a part that the plan needs"}),
        ({"metadata": {"labels": {"example.com/a": "b"}, "annotations": {"c": "d"}}}, {}),
        ({"metadata": {"labels": {"team": "other"}}}, {"metadata.labels.team": "the patch makes the value other, and the plan needs vision"}),
        ({"metadata": {"labels": {"queue.example.com/name": "a"}}}, {"metadata.labels.queue.example.com/name": "the patch makes the value a, and the plan needs none"}),
    ],
    ids=str,
)  # fmt: skip
def test_changes(patch: dict[str, Any], found: dict[str, str]) -> None:
    free = ["spec.estimate", "spec.policies+", "spec.tasks.*.topology"]
    patched = merge_patch(RENDERED, patch)
    changed = changes(RENDERED, patched, free, ["metadata.labels.queue.example.com/name"])
    assert {change.where: change.reason for change in changed} == found


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
    user_set: dict[str, Any] = {"backend": backend, "queue": "default", "roles": POOL}
    assert reasons(cluster, **user_set) == {}
    found = reasons(cluster, **user_set, manifest_overrides={key: patch})
    assert found.keys() == {f"manifest_overrides.{key}.{path}"}
    assert "the plan needs" in found[f"manifest_overrides.{key}.{path}"]


IN_PODS = pytest.mark.parametrize(
    ("backend", "pods"),
    [
        ("volcano", ("job", "tasks", "worker")),
        ("jobset", ("job", "replicatedJobs", "worker", "template", "spec")),
        ("trainer", ("runtime", "template", "spec", "replicatedJobs", "worker", "template", "spec")),
        ("kubeflow", ("job", "pytorchReplicaSpecs", "Worker")),
        ("kubedl", ("job", "pytorchReplicaSpecs", "Worker")),
    ],
)


@IN_PODS
@pytest.mark.parametrize("label", ["app.kubernetes.io/component", "app.kubernetes.io/name", "trainform.dev/revision"])
def test_labels_by_which_pods_are_found(backend: str, pods: tuple[str, ...], label: str) -> None:
    key, *words = pods
    found = _with_metadata(backend, pods, {"labels": {label: "mine"}})
    (path,) = found
    assert path == f"manifest_overrides.{key}.spec.{'.'.join(words)}.template.metadata.labels.{label}"
    assert found[path].startswith("the patch makes the value mine, and the plan needs ")


@IN_PODS
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_keys_of_the_operator_are_none_of_the_users_in_an_object_either(
    backend: str, pods: tuple[str, ...], field: str
) -> None:
    """Most would be overwritten. With `job-name` the API server refuses the Job that JobSet makes, so that there would never be a pod."""
    keys = BACKENDS[backend].POD_KEYS
    assert keys
    for key in sorted(f"{key}mine" if key.endswith("/") else key for key in keys):
        found = _with_metadata(backend, pods, {field: {key: "7"}})
        assert [*found.values()] == ["the key is set by the operator itself"], key
    assert _with_metadata(backend, pods, {field: {"example.com/mine": "7"}}) == {}


def _with_metadata(backend: str, pods: tuple[str, ...], metadata: dict[str, Any]) -> dict[str, str]:
    key, *words = pods
    patch: dict[str, Any] = {"template": {"metadata": metadata}}
    for word in reversed(words):
        patch = {word: patch}
    return reasons(backend=backend, roles=POOL, manifest_overrides={key: {"spec": patch}})


def test_the_queue_of_a_job_on_a_named_runtime() -> None:
    user_set: dict[str, Any] = {
        "backend": "trainer",
        "runtime": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"},
    }
    gone = {"job": {"spec": {"runtimePatches": None}}}
    found = reasons(**user_set, roles={"node": {"replicas": 2}}, manifest_overrides=gone)
    assert found == {"manifest_overrides.job.spec.runtimePatches": "the patch removes a part that the plan needs"}


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
def test_keys_that_an_operator_sets_itself_are_refused(backend: str, key: str, by: str, field: str) -> None:
    written: list[tuple[str, dict[str, Any]]] = [
        (field, {field: {key: "mine"}}),
        (f"pod_overrides.metadata.{field}", {"pod_overrides": {"metadata": {field: {key: "mine"}}}}),
    ]
    for path, user_set in written:
        found = reasons(backend=backend, roles={**POOL, "worker": {"replicas": 3, **user_set}})
        assert found == {f"roles.worker.{path}.{key}": f"the key is set by {by} itself"}


def test_keys_are_whole_names_and_prefixes_end_with_a_slash() -> None:
    labels = {"job-name-of-mine": "a", "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "job": "b"}
    plan = draft_plan(experiment(roles={"worker": {"replicas": 2, "labels": labels}}), VOLCANO)
    assert [*overwritten(plan, "JobSet", ["job-name", "jobset.sigs.k8s.io/"])] == []
    assert [problem.path for problem in overwritten(plan, "JobSet", ["job"])] == ["roles.worker.labels.job"]


@pytest.mark.parametrize(
    ("backend", "cluster", "user_set", "fix"),
    [
        ("kubeflow", VOLCANO, {"annotations": {VOLCANOS_QUEUE: "night"}}, "remove it, and set `queue`"),
        ("kubedl", VOLCANO, {"annotations": {"kubedl.io/network-mode": "host"}}, "remove it, and set `network: {host: true}`"),
        ("jobset", KUEUE, {"labels": {KUEUES_QUEUE: "night"}}, "remove it, and set `queue`"),
        ("trainer", KUEUE, {"labels": {KUEUES_QUEUE: "night"}}, "remove it, and set `queue`"),
        ("jobset", VOLCANO, {"labels": {KUEUES_QUEUE: "night"}}, "remove it, or use an environment with Kueue's admission"),
    ],
)  # fmt: skip
def test_a_label_cannot_repeat_what_a_field_sets(
    backend: str, cluster: Environment, user_set: dict[str, Any], fix: str
) -> None:
    (problem,) = job_problems(experiment(backend=backend, queue="default", roles=POOL, **user_set), cluster)
    ((field, keys),) = user_set.items()
    ((key, value),) = keys.items()
    assert (problem.path, problem.value, problem.fix) == (f"{field}.{key}", value, fix)
