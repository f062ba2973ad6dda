"""Queues that jobs may name, and those that experiments bring."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_role, cluster, found, limited, pod, raw
from trainform.backends.backend import BACKENDS
from trainform.spec import Environment

NIGHT = limited(queues=["night"])
REFUSED = "the environment dev does not allow this queue (allowed: night)"
ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_queues_that_experiments_may_name(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-QUE-1", NIGHT, queue="night", **parts) == {}
    assert found("TF-QUE-1", NIGHT, queue="default", **parts) == {"queue": REFUSED}
    assert found("TF-QUE-1", limited(), queue="default", **parts) == {}


@pytest.mark.parametrize("backend", [name for name, each in BACKENDS.items() if "kueue" in each.ADMISSIONS])
def test_local_queues(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    team = cluster(admission="kueue", queues={}, limits={"queues": ["team"]})
    assert found("TF-QUE-1", team, queue="team", **parts) == {}
    assert found("TF-QUE-1", team, queue="other", **parts).keys() == {"queue"}


def test_queues_in_patches_of_pods() -> None:
    patch = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "default"}}}
    assert by_role("TF-QUE-1", limited(queues=["default"]), patch) == {}
    found_in_pods = found("TF-QUE-1", NIGHT, queue="night", roles={"worker": {"pod_overrides": patch}})
    place = "roles.worker.pod_overrides.metadata.annotations.scheduling.volcano.sh/queue-name"
    assert found_in_pods == {place: REFUSED}


def test_the_own_queue_of_an_experiment_may_be_named() -> None:
    assert found("TF-QUE-1", NIGHT, queue={"weight": 1}) == {}
    assert found("TF-QUE-1", limited(queues=["night"], own_queues=False), queue={"weight": 1}).keys() == {"queue"}


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
    assert judge(NIGHT, named(spec, "day")) == {REFUSED}
    empties: list[Any] = [{}, None, [], "text", named(spec, "")]
    for empty in empties:
        assert judge(NIGHT, empty) == {REFUSED}, "it is in the queue default"
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
    odds: list[Any] = [None, "text", []]
    for odd in odds:
        assert raw("TF-QUE-2", limited(max_queue_weight=4), {**QUEUE, "metadata": odd, "spec": odd}) == {}


def test_the_queues_of_the_environment_are_its_own() -> None:
    body = {**QUEUE, "metadata": {"name": "night"}}
    assert raw("TF-QUE-2", limited(own_queues=False), body) == {}, "the environment's stack makes it"
    assert raw("TF-QUE-2", limited(), body, pod({})).keys() == {"metadata.name"}
