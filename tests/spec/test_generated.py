"""Generated experiments: whatever data comes, there are problems or a plan, never anything else."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import yaml
from hypothesis import given, settings

from tests.support.generators import ENVIRONMENT, experiments, wild_experiments
from tests.support.rendering import job_problems, plan_job
from trainform.errors import InputError, Problem
from trainform.job.render import job_manifests
from trainform.manifests.manifest import to_yaml
from trainform.plan.export import as_data
from trainform.plan.model import Plan
from trainform.rules.references import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.libyaml import Loader
from trainform.spec.load import parse

RICH = Environment.model_validate(ENVIRONMENT)
BROKEN: list[Problem] = [Problem("", None, "is no experiment", "")]


def outcome(data: dict[str, Any]) -> tuple[Plan | None, list[Problem]]:
    """A plan, or problems; problems of the form do not hide those of the content."""
    parsed = parse(Experiment, data)
    found = [] if parsed.model is None else job_problems(parsed.model, RICH)
    problems = [*parsed.problems, *found]
    if problems or parsed.model is None:
        return None, problems if problems else BROKEN
    return plan_job(parsed.model, RICH), []


def test_the_environment_is_right() -> None:
    assert environment_problems(RICH) == []


def test_problems_or_a_plan_of_which_two_builds_give_equal_bytes() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=100)
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        plan, problems = outcome(data)
        seen["accepted" if plan is not None else "refused"] += 1
        seen.update(problem.reason for problem in problems)
        assert (plan is None) == bool(problems)
        if plan is None:
            assert str(InputError(problems))
            return
        manifests = job_manifests(plan)
        assert json.dumps([manifest.body for manifest in manifests], allow_nan=False)
        assert json.dumps(as_data(plan), allow_nan=False)
        again, _ = outcome(json.loads(json.dumps(data)))
        assert again is not None
        written = to_yaml(manifests)
        assert to_yaml(job_manifests(again)) == written
        assert list(yaml.load_all(written, Loader=Loader)) == [manifest.body for manifest in manifests]

    check()
    assert seen["accepted"] > seen["refused"], f"a generator whose data is refused proves nothing: {seen}"


@settings(max_examples=100)
@given(experiments())
def test_what_the_user_has_set_reads_back_as_the_same(data: dict[str, Any]) -> None:
    """And is whole: none of it is lost on the way through the engine's state."""
    model = Experiment.model_validate(data)
    assert Experiment.model_validate(json.loads(json.dumps(model.user_set(), allow_nan=False))) == model


@settings(max_examples=100)
@given(wild_experiments())
def test_whatever_comes(data: dict[str, Any]) -> None:
    before = repr(data)
    plan, problems = outcome(data)
    assert (plan is None) == bool(problems)
    assert BROKEN[0] not in problems
    assert all(problem.reason and problem.fix and str(problem) for problem in problems)
    assert repr(data) == before
    if plan is not None:
        assert json.dumps([manifest.body for manifest in job_manifests(plan)], allow_nan=False)
