"""The priority of pods and of jobs in their queue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, cluster, found, limited, pod, raw
from trainform.backends.backend import BACKENDS

LISTED = limited(priority_classes=["low"])
REFUSED = "the environment dev does not allow this priority class (allowed: low)"
ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_priority_classes_by_field(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-PRI-1", LISTED, priority_class="low", **parts) == {}
    assert found("TF-PRI-1", LISTED, priority_class="high", **parts) == {"priority_class": REFUSED}
    assert found("TF-PRI-1", LISTED, **parts) == {}, "pods without a class have the lowest priority"


def test_what_no_list_leaves_open() -> None:
    own = cluster(priority_classes={"low": {"value": 1}})
    assert found("TF-PRI-1", own, priority_class="low") == found("TF-PRI-1", limited(), priority_class="high") == {}
    assert found("TF-PRI-1", own, priority_class="high") == {"priority_class": REFUSED}
    assert found("TF-PRI-1", limited(), priority_class="system-node-critical") == {
        "priority_class": "the environment dev does not allow this priority class (allowed: any but system-…)"
    }
    assert found("TF-PRI-1", limited(priority_classes=[]), priority_class="low") != {}


def test_priority_classes_in_patches() -> None:
    for judge in (by_role, by_job):
        assert set(judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "high"}}).values()) == {REFUSED}
        assert judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "low"}}) == {}
    job = {"job": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, manifest_overrides=job) == {
        "manifest_overrides.job.spec.priorityClassName": REFUSED
    }
    group = {"pod-group": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, backend="jobset", manifest_overrides=group) == {
        "manifest_overrides.pod-group.spec.priorityClassName": REFUSED
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
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}
    odds: list[Any] = [None, "text", [], {"runPolicy": []}]
    for odd in odds:
        assert raw("TF-PRI-1", LISTED, {**body, "spec": odd}) == {}


def test_the_label_of_a_workload() -> None:
    body = {"kind": "JobSet", "metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}
