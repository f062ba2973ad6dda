"""Wrong experiments get problems from every operator, and never an exception of ours."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.generators import ENVIRONMENT, experiments
from trainform.backends.job import BACKENDS, job_problems
from trainform.spec import Environment, Experiment
from trainform.spec.load import parse

RICH = Environment.model_validate(ENVIRONMENT)
MANGLED = st.sampled_from(["", "a role less", "a role without replicas", "no role with replicas", "no overrides"])


def mangled(data: dict[str, Any], how: str) -> dict[str, Any]:
    """The experiment with something in it that others may count on."""
    roles = data["roles"]
    last = list(roles)[-1]
    if how == "a role less":
        roles.pop(last)
    if how == "a role without replicas":
        roles[last]["replicas"] = 0
    for role in roles.values():
        if how == "no role with replicas":
            role["replicas"] = 0
        if how == "no overrides":
            role["pod_overrides"] = {"spec": None}
    return data


@pytest.mark.parametrize("backend", BACKENDS)
def test_whatever_comes(backend: str) -> None:
    parsed_some = False

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments(), MANGLED)
    def check(data: dict[str, Any], how: str) -> None:
        nonlocal parsed_some
        parsed = parse(Experiment, mangled({**copy.deepcopy(data), "backend": backend}, how))
        if parsed.model is not None:
            parsed_some = True
            job_problems(parsed.model, RICH)

    check()
    assert parsed_some
