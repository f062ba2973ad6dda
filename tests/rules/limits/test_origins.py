"""Where a finding is shown: at the part of the file, or of a merge patch, that causes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import found
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment
from trainform.job.render_platform import platform_manifests, render_platform
from trainform.rules.limits.origins import OBJECTS, platform_problem
from trainform.rules.limits.rule import Finding, Judgement
from trainform.rules.limits.table import RULES
from trainform.spec.environment import Environment

TOKEN = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"  # noqa: S105 - of nobody
PLATFORM = environment(
    namespace={"name": "ai-namespace", "create": True},
    queues={"vision": {"weight": 2}, "vision-night": {"parent": "vision"}, "research": {"create": False}},
    claims={"models": {"size": "1Ti", "class": "fast"}},
    priority_classes={"urgent": {"value": 1000, "description": "for demos"}},
)
SECRETS = next(rule for rule in RULES if rule.code == "TF-SEC-1")


def shown(key: str | None, where: str = "metadata.labels.team", platform: Environment = PLATFORM) -> str:
    """The path of the problem for a finding in the object of this key."""
    finding = Finding(where, "[secret]", "the value looks like a secret", "remove it", key=key)
    problem = platform_problem(Judgement(SECRETS, "error", finding), platform)
    assert (problem.value, problem.reason, problem.fix) == (finding.value, finding.reason, finding.fix)
    assert (problem.code, problem.fingerprint) == ("TF-SEC-1", ""), "no experiment can waive it"
    return problem.path


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("queue-vision", "queues.vision"),
        ("queue-vision-night", "queues.vision-night"),
        ("claim-models", "claims.models"),
        ("priority-class-urgent", "priority_classes.urgent"),
        ("namespace", "namespace"),
        (None, "metadata.labels.team"),
    ],
)
def test_a_finding_is_shown_at_the_part_that_makes_the_object(key: str | None, path: str) -> None:
    assert shown(key) == path


def test_every_object_of_an_environment_has_its_part() -> None:
    """A new part of an environment that makes objects needs a row in `OBJECTS`."""
    for manifest in platform_manifests(PLATFORM):
        field, _, name = shown(manifest.key).partition(".")
        assert field in Environment.model_fields, manifest.key
        assert field == "namespace" or name in getattr(PLATFORM, field)
    assert set(OBJECTS) <= Environment.model_fields.keys()


def test_a_secret_in_an_environment_is_found_and_never_shown() -> None:
    found = render_platform(environment(priority_classes={"urgent": {"value": 1000, "description": TOKEN}})).problems
    assert [(problem.path, problem.code) for problem in found] == [("priority_classes.urgent", "TF-SEC-1")]
    assert TOKEN not in str(found[0])


STRICT = environment(limits={"registries": ["registry.example.com"], "service_accounts": []})
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
    assert job_problems(experiment(**scaled), environment(limits={"max_accelerators": 64})) == []
    assert found("TF-RES-2", environment(limits={"max_accelerators": 32}), **elastic) == {}
    assert found("TF-RES-2", environment(limits={"max_accelerators": 32}), **scaled) != {}
