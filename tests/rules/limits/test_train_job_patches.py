"""What a merge patch of a TrainJob changes in the pods of its runtime is judged like a patch of the pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import cluster, found
from tests.support.rendering import job_problems
from tests.support.samples import experiment

STRICT = cluster(limits={"registries": ["registry.example.com"], "service_accounts": []})
POD_PATCH = {"serviceAccountName": "admin", "tolerations": [{"operator": "Exists"}]}


def by_train_job(code: str, spec: dict[str, Any], **parts: Any) -> dict[str, str]:
    return found(code, STRICT, backend="trainer", manifest_overrides={"job": {"spec": spec}}, **parts)


def runtime_patch(spec: dict[str, Any]) -> dict[str, Any]:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": spec}}}}]
    template = {"spec": {"replicatedJobs": jobs}}
    return {"runtimePatches": [{"manager": "example.com/me", "trainingRuntimeSpec": {"template": template}}]}


@pytest.mark.parametrize(
    ("code", "spec"),
    [
        ("TF-IMG-1", {"trainer": {"image": "other.example.com/a:1"}}),
        ("TF-ACC-1", runtime_patch(POD_PATCH)),
        ("TF-PLC-5", runtime_patch(POD_PATCH)),
        ("TF-POD-1", runtime_patch({"volumes": [{"name": "node", "hostPath": {"path": "/"}}]})),
    ],
)
def test_a_patch_of_the_train_job_is_judged(code: str, spec: dict[str, Any]) -> None:
    [path] = by_train_job(code, spec)
    assert path.startswith("manifest_overrides.job")


def test_what_the_limits_allow_passes() -> None:
    for code in ("TF-IMG-1", "TF-RES-3", "TF-ACC-1", "TF-PLC-5", "TF-POD-1"):
        assert by_train_job(code, {"trainer": {"image": "registry.example.com/a:1"}}) == {}
        assert by_train_job(code, runtime_patch({"nodeSelector": {"pool": "l40s"}})) == {}


def test_workers_of_an_autoscaler_count_where_metrics_are_patched() -> None:
    """training-operator scales an elastic PyTorchJob up to `max_nodes` by a HorizontalPodAutoscaler."""
    elastic = {
        "backend": "kubeflow",
        "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 8}}},
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
    }
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]
    scaled = {**elastic, "manifest_overrides": {"job": {"spec": {"elasticPolicy": {"metrics": metrics}}}}}
    assert job_problems(experiment(**scaled), cluster(limits={"max_accelerators": 64})) == []
    assert found("TF-RES-2", cluster(limits={"max_accelerators": 32}), **elastic) == {}
    assert found("TF-RES-2", cluster(limits={"max_accelerators": 32}), **scaled) != {}
