"""Wrong experiments get problems from every operator, and never an exception of ours."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, note, settings
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


def test_whatever_comes() -> None:
    """One experiment for all operators: to draw it takes longer than to plan it."""
    parsed: set[str] = set()

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments(), MANGLED)
    def check(data: dict[str, Any], how: str) -> None:
        for backend in BACKENDS:
            note(backend)
            made = parse(Experiment, mangled({**copy.deepcopy(data), "backend": backend}, how))
            if made.model is not None:
                parsed.add(backend)
                job_problems(made.model, RICH)

    check()
    assert parsed == set(BACKENDS)
