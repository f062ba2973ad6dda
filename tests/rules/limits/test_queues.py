"""Queues that jobs may name, and what an experiment's own queue may take from others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_role, cluster, found, limited, pod, raw
from trainform.backends.table import BACKENDS
from trainform.render_platform import render_platform
from trainform.spec import Environment

NIGHT = limited(queues=["night"])
REFUSED = "the environment dev does not let experiments use this queue (allowed: night)"
STRICT = limited(severity={"TF-QUE-4": "error"})
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
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", {"template": {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "{}"}}}}),
]  # fmt: skip


def named(spec: Any, queue: str) -> Any:
    """The spec with the queue in its place."""
    return {key: named(value, queue) for key, value in spec.items()} if isinstance(spec, dict) else queue


@pytest.mark.parametrize(("version", "kind", "spec"), JOBS)
def test_queues_in_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind}
    assert raw("TF-QUE-1", NIGHT, {**body, "spec": named(spec, "night")}) == {}
    assert set(raw("TF-QUE-1", NIGHT, {**body, "spec": named(spec, "day")}).values()) == {REFUSED}
    empties: list[Any] = [{}, None, [], "text", named(spec, "")]
    for empty in empties:
        assert set(raw("TF-QUE-1", NIGHT, {**body, "spec": empty}).values()) == {REFUSED}, "it is in the queue default"
    assert raw("TF-QUE-1", limited(), {**body, "spec": named(spec, "day")}) == {}
    closed = limited(own_queues=False)
    assert raw("TF-QUE-1", closed, {**body, "spec": named(spec, "default")}) == {}
    assert raw("TF-QUE-1", closed, {**body, "spec": named(spec, "day")}) != {}


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
    assert raw("TF-QUE-2", limited(own_queues=False), {**body, "spec": {"weight": 4, "parent": "root"}}) == {}
    assert raw("TF-QUE-2", limited(), {**body, "spec": {"weight": 5}}) == {
        "spec.weight": "the queue night belongs to the environment dev, which has 4 here"
    }
    assert raw("TF-QUE-4", limited(), {**body, "spec": {"guarantee": {"resource": {"cpu": 1}}}}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capability", {"cpu": 1}),
        ("capability", {}),
        ("capability", {"baidu.com/a800_80g_cgpu": 64}),
        ("capability", "text"),
        ("deserved", {"cpu": 1}),
        ("guarantee", {"resource": {"cpu": 1}}),
        ("affinity", {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["a"]}}),
        ("reclaimable", False),
        ("extendClusters", [{"name": "other"}]),
        ("dequeueStrategy", "fifo"),
    ],
)
def test_no_field_of_the_environments_queues_is_changed(field: str, value: Any) -> None:
    body = {**QUEUE, "metadata": {"name": "night"}, "spec": {field: value}}
    assert raw("TF-QUE-2", limited(), body).keys() == {f"spec.{field}"}


def test_what_the_environment_itself_says_of_its_queue_may_be_repeated() -> None:
    amounts = {
        "capability": {"a800": 32, "cpu": 4},
        "deserved": {"a800": 16, "cpu": 4},
        "guarantee": {"a800": 8, "cpu": 4},
    }
    where = cluster(queues={"default": {"weight": 1}, "night": {"weight": 4, **amounts}})
    a800 = where.accelerators["a800"].resource
    spec = {
        "capability": {a800: 32, "cpu": 4},
        "deserved": {a800: "16", "cpu": 4},
        "guarantee": {"resource": {a800: "8", "cpu": "4"}},
    }
    assert raw("TF-QUE-2", where, {**QUEUE, "metadata": {"name": "night"}, "spec": spec}) == {}
    assert render_platform(where).found == ()


@pytest.mark.parametrize(("given", "same"), [
    ({"cpu": "1"}, {"cpu": "1000m"}), ({"cpu": "1500m"}, {"cpu": 1.5}), ({"memory": "1Gi"}, {"memory": "1024Mi"}),
    ({"memory": "1Gi"}, {"memory": 1073741824}), ({"cpu": 4, "memory": "1Gi"}, {"memory": "1Gi", "cpu": "4000m"}),
])  # fmt: skip
def test_an_amount_in_another_spelling_is_the_same(given: dict[str, Any], same: dict[str, Any]) -> None:
    where = cluster(queues={"default": {"weight": 1}, "night": {"weight": 4, "capability": given, "guarantee": given}})
    body = {**QUEUE, "metadata": {"name": "night"}}
    spec = {"capability": same, "guarantee": {"resource": same}}
    assert raw("TF-QUE-2", where, {**body, "spec": spec}) == {}
    more = {name: "2Gi" if name == "memory" else "5" for name in same}
    spec = {"capability": more, "guarantee": {"resource": more}}
    assert raw("TF-QUE-2", where, {**body, "spec": spec}).keys() == {"spec.capability", "spec.guarantee"}


def test_a_name_is_no_amount() -> None:
    where = cluster(queues={"1k": {}, "night": {"parent": "1k"}})
    body = {**QUEUE, "metadata": {"name": "night"}}
    assert raw("TF-QUE-2", where, {**body, "spec": {"parent": "1k"}}) == {}
    assert raw("TF-QUE-2", where, {**body, "spec": {"parent": "1000"}}).keys() == {"spec.parent"}


def test_the_queues_of_volcano_are_not_changed() -> None:
    for name, where in (("root", cluster()), ("default", cluster(queues={"night": {}}))):
        body = {**QUEUE, "metadata": {"name": name}, "spec": {"capability": {"cpu": 1}}}
        assert raw("TF-QUE-2", where, body).keys() == {"metadata.name"}


@pytest.mark.parametrize(
    ("field", "value", "fine"),
    [("reclaimable", False, True), ("priority", 1, 0), ("parent", "foreign", "night"), ("affinity", {"nodeGroupAffinity": {}}, {})],
)  # fmt: skip
def test_what_takes_from_neighbours(field: str, value: Any, fine: Any) -> None:
    assert own(STRICT, {field: value}, "TF-QUE-4").keys() == {f"manifest_overrides.queue.spec.{field}"}
    assert own(STRICT, {field: fine}, "TF-QUE-4") == {}
    assert own(limited(), {field: value}, "TF-QUE-4") == {}, "a warning by default"
    body = {**QUEUE, "metadata": {"name": "mine"}, "spec": {field: value}}
    assert raw("TF-QUE-4", limited(), body).keys() == {f"spec.{field}"}


def test_what_takes_from_neighbours_by_fields() -> None:
    assert own(STRICT, code="TF-QUE-4", parent="night", reclaimable=True) == {}
    assert own(STRICT, code="TF-QUE-4", reclaimable=False, priority=1).keys() == {
        "queue.reclaimable",
        "queue.priority",
    }
    amounts = {"deserved": {"a800": 8}, "guarantee": {"a800": 8}}
    assert own(STRICT, code="TF-QUE-4", **amounts) == {
        "queue.guarantee": "the queue keeps resources free for itself, at the cost of its neighbours"
    }
    patch = {"guarantee": {"resource": {"cpu": "4"}}}
    assert own(STRICT, patch, "TF-QUE-4").keys() == {"manifest_overrides.queue.spec.guarantee"}
