"""The schema that a pod template must satisfy after a merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import plan, pod
from trainform.manifests.schema import POD_TEMPLATE, quantity, violations
from trainform.spec.merge_patch import merge_patch


def test_a_rendered_pod_template_satisfies_the_schema() -> None:
    made = plan(
        roles={"worker": {"cpu": 8, "init": [{"name": "fetch", "command": ["fetch"]}]}},
        storage={"a": {"claim": "a", "mount": "/a"}},
    )
    assert list(violations(pod(made, "worker"), POD_TEMPLATE)) == []


@pytest.mark.parametrize(
    ("patch", "where", "reason"),
    [
        ({"spec": None}, "spec", "is missing"),
        ({"spec": "main"}, "spec", "must be a mapping"),
        ({"metadata": {"labels": None}}, "metadata.labels", "is missing"),
        ({"metadata": {"annotations": {"on": 1}}}, "metadata.annotations.on", "must be text"),
        ({"spec": {"containers": {"main": {"image": 5}}}}, "spec.containers[0].image", "must be text"),
        ({"spec": {"containers": {"log": {}}}}, "spec.containers[1].image", "is missing"),
        ({"spec": {"containers": ["main"]}}, "spec.containers[0]", "must be a mapping"),
        ({"spec": {"containers": {"main": {"env": [{"name": "HF_TOKEN", "value": ["hf"]}]}}}}, "spec.containers[0].env[0].value", "must be text"),
        ({"spec": {"containers": {"main": {"env": [{"name": "SEED", "value": 5}]}}}}, "spec.containers[0].env[0].value", "must be text"),
        ({"spec": {"hostNetwork": "yes"}}, "spec.hostNetwork", "must be true or false"),
        ({"spec": {"containers": {"main": {"ports": [{"containerPort": True}]}}}}, "spec.containers[0].ports[0].containerPort", "must be a whole number"),
        ({"spec": {"containers": {"main": {"resources": {"limits": {"cpu": "many"}}}}}}, "spec.containers[0].resources.limits.cpu", "must be a quantity"),
    ],
)  # fmt: skip
def test_violations_of_the_schema(patch: dict[str, Any], where: str, reason: str) -> None:
    assert list(violations(merge_patch(pod(plan(), "worker"), patch), POD_TEMPLATE)) == [(where, reason)]


@pytest.mark.parametrize(
    ("value", "valid"),
    [(8, True), ("8", True), ("1Gi", True), ("many", False), (True, False), (1.5, False), (None, False)],
)
def test_quantities(value: object, valid: bool) -> None:
    assert quantity(value) is valid
