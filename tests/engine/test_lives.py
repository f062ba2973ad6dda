"""What `check` accepts starts, ends and runs as the plan says: generated small jobs on every operator, from their start
to their end, on the real controllers, and simulated nodes."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.engine.conftest import own_namespace
from tests.engine.live import Live
from tests.engine.lives import Life, has_policies, live_together
from tests.support.chance import chance
from tests.support.generated_jobs import small_jobs
from tests.support.obeying import obeyed, planned
from tests.support.repository import read
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.plan.model import Plan
from trainform.spec.environment import Environment

pytestmark = pytest.mark.proof("generated jobs to their end on every operator, which takes minutes")

TOGETHER = 60  # jobs, which the nodes of the sandbox hold at once
ONE_IN = 4  # examples: a life costs as much as four dry runs


def in_namespace(name: str, admission: str = defaults.VOLCANO) -> Environment:
    """Return the environment `dev` in this namespace."""
    own = {"namespace": {"name": name, "create": False}, "admission": admission, "queues": {}, "claims": {}}
    return Environment.model_validate({**read("environments", "dev"), **own})


@st.composite
def chosen(draw: st.DrawFn, backend: str, environment: Environment) -> tuple[dict[str, Any], Plan, str | None] | None:
    """Return an experiment that the operator can run, its plan, and the role of which a pod fails; None where it can
    run none of it."""
    data = {**draw(small_jobs()), "backend": backend}
    plan = obeyed(data, environment)
    if plan is None:
        return None
    roles = [role.name for role in plan.roles if role.replicas]
    return data, plan, None if has_policies(data) else draw(st.sampled_from([None, *roles]))


def drawn(number: int, backend: str, environment: Environment) -> list[tuple[dict[str, Any], Plan, str | None]]:
    """So many experiments that `check` accepts."""
    found: dict[str, tuple[dict[str, Any], Plan, str | None]] = {}

    @settings(
        max_examples=2 * number,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(chosen(backend, environment))
    def collect(one: tuple[dict[str, Any], Plan, str | None] | None) -> None:
        if one is not None and len(found) < number:
            found.setdefault(repr((one[0], one[2])), one)

    collect()
    return [*found.values()]


def test_what_check_accepts_starts_and_ends_as_planned(addons_live: Live, examples: int) -> None:
    as_planned_on(addons_live, [defaults.VOLCANO], examples)


Namespaces = Callable[[Live], Iterator[str]]


def as_planned_on(live: Live, admissions: Sequence[str], examples: int, namespaces: Namespaces = own_namespace) -> None:
    """Fail if a job on an operator of one of these admissions does not run as planned."""
    places = [(admission, name) for admission in admissions for name in BACKENDS if admits(admission, name)]
    each = max(1, examples // ONE_IN // len(defaults.BACKENDS))
    found = [(admission, *one) for admission, name in places for one in drawn(each, name, in_namespace("t", admission))]
    draws = chance()
    draws.shuffle(found)
    lived: list[Life] = []
    for start in range(0, len(found), TOGETHER):
        with contextlib.contextmanager(namespaces)(live) as namespace:
            lives = []
            for number, (admission, data, _, fails) in enumerate(found[start : start + TOGETHER], start):
                plan, problems = planned({**data, "name": f"life-{number}"}, in_namespace(namespace, admission))
                assert plan is not None, problems
                lives.append(Life(live, data, plan, fails, random.Random(draws.random())))  # noqa: S311
            live_together(live, lives, namespace)
            lived += lives
    per_operator = Counter((life.plan.admission, life.plan.backend) for life in lived)
    assert min(per_operator[place] for place in places) > each / 2, per_operator
    wrong = [*told(lived)]
    print(len(lived), "lives", dict(per_operator), len(wrong), "not as planned", *wrong, sep="\n\n")
    assert not wrong, "\n\n".join(wrong)


def admits(admission: str, backend: str) -> bool:
    return admission in BACKENDS[backend].ADMISSIONS


def told(lives: list[Life]) -> Iterator[str]:
    """Yield every job that did otherwise, the smallest first."""
    wrong = sorted((life for life in lives if life.wrong), key=lambda life: len(as_yaml(life.data)))
    for life in wrong:
        failing = "" if life.fails is None else f" (a pod of {life.fails} fails)"
        yield f"{life.wrong}{failing}, with `admission: {life.plan.admission}`\n{as_yaml(life.data)}"


def as_yaml(data: dict[str, Any]) -> str:
    """As a user would write it, without references to what occurs twice."""
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False)
