"""Queues and priorities of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.samples import environment
from trainform.backends.backend import BACKENDS
from trainform.spec.environment import Environment

ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
LISTED = limited(priority_classes=["low"])
CLASS_REFUSED = "the environment dev does not allow this priority class (allowed: low)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_priority_classes_by_field(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-PRI-1", LISTED, priority_class="low", **parts) == {}
    assert found("TF-PRI-1", LISTED, priority_class="high", **parts) == {"priority_class": CLASS_REFUSED}
    assert found("TF-PRI-1", LISTED, **parts) == {}, "pods without a class have the lowest priority"


def test_what_no_list_leaves_open() -> None:
    own = environment(priority_classes={"low": {"value": 1}})
    assert found("TF-PRI-1", own, priority_class="low") == found("TF-PRI-1", limited(), priority_class="high") == {}
    assert found("TF-PRI-1", own, priority_class="high") == {"priority_class": CLASS_REFUSED}
    assert found("TF-PRI-1", limited(), priority_class="system-node-critical") == {
        "priority_class": "the environment dev does not allow this priority class (allowed: any but system-…)"
    }
    assert found("TF-PRI-1", limited(priority_classes=[]), priority_class="low") != {}


def test_priority_classes_in_patches() -> None:
    for judge in (by_role, by_job):
        assert set(judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "high"}}).values()) == {CLASS_REFUSED}
        assert judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "low"}}) == {}
    job = {"job": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, manifest_overrides=job) == {
        "manifest_overrides.job.spec.priorityClassName": CLASS_REFUSED
    }
    group = {"pod-group": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, backend="jobset", manifest_overrides=group) == {
        "manifest_overrides.pod-group.spec.priorityClassName": CLASS_REFUSED
    }


def test_a_priority_as_a_number() -> None:
    reason = "the pods set a priority as a number, which only a priority class may give"
    for judge in (by_role, by_job):
        assert set(judge("TF-PRI-1", limited(), {"spec": {"priority": 0}}).values()) == {reason}
        assert judge("TF-PRI-1", limited(), {"spec": {"priority": None}}) == {}
    assert raw("TF-PRI-1", limited(), {}, pod({"priority": 2_000_000_000})) == {"spec.priority": reason}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("batch.volcano.sh/v1alpha1", "Job", {"priorityClassName": "high"}),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", {"priorityClassName": "high"}),
        ("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"schedulingPolicy": {"priorityClass": "high"}}}),
        ("training.kubedl.io/v1alpha1", "PyTorchJob", {"schedulingPolicy": {"priorityClassName": "high"}}),
    ],
)
def test_priority_classes_in_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind, "spec": spec}
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {CLASS_REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}


def test_the_label_of_a_workload() -> None:
    body = {"kind": "JobSet", "metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {CLASS_REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}


NIGHT = limited(queues=["night"])
QUEUE_REFUSED = "the environment dev does not allow this queue (allowed: night)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_queues_that_experiments_may_name(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-QUE-1", NIGHT, queue="night", **parts) == {}
    assert found("TF-QUE-1", NIGHT, queue="default", **parts) == {"queue": QUEUE_REFUSED}
    assert found("TF-QUE-1", limited(), queue="default", **parts) == {}


@pytest.mark.parametrize("backend", [name for name, each in BACKENDS.items() if "kueue" in each.ADMISSIONS])
def test_local_queues(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    team = environment(admission="kueue", queues={}, limits={"queues": ["team"]})
    assert found("TF-QUE-1", team, queue="team", **parts) == {}
    assert found("TF-QUE-1", team, queue="other", **parts).keys() == {"queue"}


def test_queues_in_patches_of_pods() -> None:
    patch = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "default"}}}
    assert by_role("TF-QUE-1", limited(queues=["default"]), patch) == {}
    found_in_pods = found("TF-QUE-1", NIGHT, queue="night", roles={"worker": {"pod_overrides": patch}})
    place = "roles.worker.pod_overrides.metadata.annotations.scheduling.volcano.sh/queue-name"
    assert found_in_pods == {place: QUEUE_REFUSED}


def test_the_own_queue_of_an_experiment_may_be_named() -> None:
    assert found("TF-QUE-1", NIGHT, queue={"weight": 1}) == {}
    assert found("TF-QUE-1", limited(queues=["night"], own_queues=False), queue={"weight": 1}).keys() == {"queue"}


def test_a_gang_without_a_queue_waits_in_the_default_one() -> None:
    member = pod({}, {"annotations": {"scheduling.k8s.io/group-name": "gang"}})
    night = limited(queues=["night"])
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {"queue": "night"}}, member) == {}
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {}}, member).keys() == {"spec.queue"}


JOBS: list[tuple[str, str, dict[str, Any]]] = [
    ("batch.volcano.sh/v1alpha1", "Job", {"queue": "{}"}),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", {"queue": "{}"}),
    ("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"schedulingPolicy": {"queue": "{}"}}}),
    ("kubeflow.org/v1", "MPIJob", {"runPolicy": {"schedulingPolicy": {"queue": "{}"}}}),
    ("training.kubedl.io/v1alpha1", "TFJob", {"schedulingPolicy": {"queue": "{}"}}),
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
        {"template": {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "{}"}}}}),
]  # fmt: skip


def named(spec: Any, queue: str) -> Any:
    """The spec with the queue in its place."""
    return {key: named(value, queue) for key, value in spec.items()} if isinstance(spec, dict) else queue


@pytest.mark.parametrize(("version", "kind", "spec"), JOBS)
def test_queues_in_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    def judge(where: Environment, spec: Any) -> set[str]:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        return set(raw("TF-QUE-1", where, body, *([] if kind == "PodGroup" else [pod({})])).values())

    assert judge(NIGHT, named(spec, "night")) == judge(limited(), named(spec, "day")) == set()
    assert judge(NIGHT, named(spec, "day")) == {QUEUE_REFUSED}
    empties: list[Any] = [{}, named(spec, "")]
    for empty in empties:
        assert judge(NIGHT, empty) == {QUEUE_REFUSED}, "it is in the queue default"
    assert judge(limited(own_queues=False), named(spec, "default")) == set()
    assert judge(limited(own_queues=False), named(spec, "day")) != set()


def test_queues_of_other_pods() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    for key, refused in (
        ({"annotations": {"scheduling.volcano.sh/queue-name": "night"}}, False),
        ({"annotations": {"scheduling.volcano.sh/queue-name": "day"}}, True),
        ({"annotations": {"scheduling.k8s.io/group-name": "gang"}}, False),
        ({}, True),
        (None, True),
    ):
        assert (raw("TF-QUE-1", NIGHT, job, pod({}, key)) != {}) is refused


def own(
    where: Environment, patch: dict[str, Any] | None = None, code: str = "TF-QUE-2", **queue: Any
) -> dict[str, str]:
    overrides = {} if patch is None else {"manifest_overrides": {"queue": {"spec": patch}}}
    return found(code, where, queue={"weight": 1, **queue}, **overrides)


def test_own_queues() -> None:
    assert own(limited()) == {}
    assert own(limited(own_queues=False)) == {
        "queue": "the environment dev does not let experiments bring queues of their own"
    }


def test_the_weight_of_an_own_queue() -> None:
    at_most = limited(max_queue_weight=4)
    assert own(at_most, weight=4) == own(limited(), weight=9) == own(at_most, {"weight": 4}) == {}
    reason = "the weight is more than the environment dev allows (4)"
    assert own(at_most, weight=5) == {"queue.weight": reason}
    assert own(at_most, {"weight": 5}) == {"manifest_overrides.queue.spec.weight": reason}


QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}


def test_queues_of_others() -> None:
    body = {**QUEUE, "metadata": {"name": "mine"}, "spec": {"weight": 5}}
    assert raw("TF-QUE-2", limited(max_queue_weight=4), body).keys() == {"spec.weight"}
    assert raw("TF-QUE-2", limited(own_queues=False), body).keys() == {"metadata.name"}
    assert raw("TF-QUE-2", limited(max_queue_weight=5), body) == {}


def test_the_queues_of_the_environment_are_its_own() -> None:
    body = {**QUEUE, "metadata": {"name": "night"}}
    assert raw("TF-QUE-2", limited(own_queues=False), body) == {}, "the environment's stack makes it"
    assert raw("TF-QUE-2", limited(), body, pod({})).keys() == {"metadata.name"}
