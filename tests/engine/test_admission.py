"""Whatever `check` accepts, the real admission accepts; and what we rendered comes back as we said it.

The second half matters as much as the first: a field that the server rewrites would show as a change at every preview, and on a
Volcano Job every later update would be denied.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.admission import not_kept, offered
from tests.engine.differences import changed
from tests.engine.live import Live
from tests.engine.project import REPOSITORY
from tests.generators import experiments
from trainform.backends import plan_job, platform_manifests
from trainform.backends.job import BACKENDS, job_problems
from trainform.errors import Problem
from trainform.spec import Environment, Experiment
from trainform.spec.load import load_environment, parse

OTHERS = [name for name in BACKENDS if name != "volcano"]
ROUNDS = 8


@pytest.fixture(scope="module")
def environment(live: Live) -> Iterator[Environment]:
    """What the generated experiments need, on Volcano's cluster."""
    yield from offered(live)


@pytest.fixture(scope="module")
def addons_environment(addons_live: Live) -> Iterator[Environment]:
    """The same on the cluster with the other operators."""
    yield from offered(addons_live)


def accepted(data: dict[str, Any], environment: Environment) -> Experiment | None:
    """The experiment, if `check` accepts it."""
    parsed = parse(Experiment, copy.deepcopy(data))
    wrong = parsed.problems or parsed.model is None or job_problems(parsed.model, environment)
    return None if wrong else parsed.model


def test_what_check_accepts_the_server_accepts_and_keeps(live: Live, environment: Environment, examples: int) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        model = accepted(data, environment)
        seen["refused" if model is None else "accepted"] += 1
        if model is not None:
            assert list(not_kept(live, plan_job(model, environment))) == []

    check()
    # the proof is worth what it covers: most of what is drawn must be accepted
    assert seen["accepted"] > examples / 2, seen


def obeyed(data: dict[str, Any], environment: Environment) -> Experiment | None:
    """The experiment after its author has removed what messages complain of, again and again; None where that does not help."""
    for _ in range(ROUNDS):
        parsed = parse(Experiment, copy.deepcopy(data))
        problems = parsed.problems if parsed.model is None else job_problems(parsed.model, environment)
        if not problems:
            return parsed.model
        if sum(_removed(data, problem) for problem in problems) == 0:  # of all, not of the first that can be
            return None
    return None


def _removed(data: Any, problem: Problem) -> bool:
    """Whether there was something to remove."""
    *above, last = re.split(r"\.|\[", problem.path.replace("]", ""))
    for part in above:
        data = data.get(part) if isinstance(data, dict) else None
    return isinstance(data, dict) and data.pop(last, None) is not None


@pytest.mark.parametrize("backend", OTHERS)
def test_what_check_accepts_every_operator_accepts(
    backend: str, addons_live: Live, addons_environment: Environment, examples: int
) -> None:
    """The examples are shared out: together as many as for Volcano."""
    seen: Counter[str] = Counter()
    share = examples // len(OTHERS)

    @settings(max_examples=share, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        model = obeyed({**copy.deepcopy(data), "backend": backend}, addons_environment)
        seen["refused" if model is None else "accepted"] += 1
        if model is not None:
            assert list(not_kept(addons_live, plan_job(model, addons_environment))) == []

    check()
    assert seen["accepted"] > share / 4, seen


def test_the_teaching_environment_is_admitted(live: Live) -> None:
    for manifest in platform_manifests(load_environment("dev", REPOSITORY).checked()):
        if not manifest.patch and manifest.body["kind"] != "PersistentVolumeClaim":
            assert list(changed(manifest.body, live.make(manifest.body, dry_run=True))) == []
