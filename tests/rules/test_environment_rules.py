"""Limits of an environment that no experiment could meet."""

from __future__ import annotations

import datetime
from typing import Any

from tests.support.samples import CLUSTER, environment
from trainform.rules.environment_rules import environment_problems
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
