"""Limits of an environment that no experiment could meet."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.support.samples import CLUSTER, environment
from trainform.rules.environment import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.load import parse

PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}


def found(**parts: Any) -> dict[str, str]:
    return {problem.path: problem.fix for problem in environment_problems(environment(**parts))}


def test_types_of_volumes_that_trainform_makes() -> None:
    most = ["persistentVolumeClaim", "secret", "configMap"]
    assert found(limits={"volume_types": most}) == {"limits.volume_types": "add emptyDir"}
    assert found(limits={"volume_types": [*most, "emptyDir"]}) == {}


def test_queues_that_are_not_there() -> None:
    assert found(limits={"queues": ["nigth"]}) == {"limits.queues[0]": "did you mean night?"}
    assert found(limits={"queues": ["night", "default"]}) == {}


def test_a_cost_in_another_currency() -> None:
    a800 = {**CLUSTER["accelerators"]["a800"], "price_per_hour": PRICE}
    parsed = parse(Environment, {**CLUSTER, "accelerators": {"a800": a800},
            "limits": {"max_cost_per_hour": {"amount": 5.0, "currency": "EUR"}}}).model  # fmt: skip
    assert parsed is not None
    assert [problem.path for problem in environment_problems(parsed)] == ["limits.max_cost_per_hour.currency"]


@pytest.mark.parametrize("registry", ["https://registry.example.com", "registry.example.com/ai/training:1.0"])
def test_what_is_no_registry(registry: str) -> None:
    assert parse(Environment, {**CLUSTER, "limits": {"registries": [registry]}}).problems


@pytest.mark.parametrize("registry", ["registry.example.com:5000", "registry.example.com:5000/ai", "localhost:5000"])
def test_what_is_a_registry(registry: str) -> None:
    assert not parse(Environment, {**CLUSTER, "limits": {"registries": [registry]}}).problems
