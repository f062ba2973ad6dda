"""What is deployed, released and written is the same experiment, unless somebody has changed it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from msgspec import structs

from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems
from tests.support.repository import ROOT
from trainform.check import check_experiment
from trainform.comparison.compare import compare, of_file, of_record
from trainform.errors import InputError
from trainform.plan.record import read_record
from trainform.project import known_stacks
from trainform.releases.promote import as_released, recorded
from trainform.render import render_job
from trainform.review.wanted import Side
from trainform.spec import Environment, Experiment
from trainform.spec.load import parse
from trainform.spec.release import Released
from trainform.spec.stack import Stack, load_stack


def stacks() -> dict[str, Stack]:
    found = {}
    for name in known_stacks(ROOT):
        try:
            found[name] = load_stack(name, ROOT)
        except InputError:  # an environment's own
            continue
    return found


STACKS = stacks()


@pytest.mark.parametrize("name", STACKS)
def test_what_was_just_deployed_is_what_the_file_and_a_release_of_it_say(name: str) -> None:
    stack = STACKS[name]
    record = check_experiment(stack.given, stack.environment, stack.run, ROOT).checked().plan.record
    assert record is not None
    body = {"metadata": {"name": f"{stack.experiment}-deployed"}, "data": record.data()}
    read = read_record(body)
    assert read is not None
    released = Released(stack.experiment, "0a1b2c3d4e5f60718293", as_released(recorded(read, name)))
    deployed = of_record(f"{name}, deployed", read)
    for written in (released, stack.given):
        assert compare(deployed, of_file("by its files", written, ROOT, stack.environment)).experiment == ()


@settings(max_examples=25)
@given(experiments())
def test_any_experiment_is_the_same_as_its_release(data: dict[str, Any]) -> None:
    model, environment = parse(Experiment, data).model, Environment.model_validate(ENVIRONMENT)
    assume(model is not None and not job_problems(model, environment))
    assert model is not None
    record = render_job(model, environment).plan.record
    assert record is not None
    deployed = of_record("deployed", record)
    released = structs.replace(deployed, side=Side(as_released(recorded(record, "bert.dev")), {}, 1))
    assert compare(deployed, released).experiment == ()
