"""What is deployed, rendered again from its record: the same objects as they were made, or a sentence that says why it
cannot be told."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from msgspec import structs

from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems, plan_job
from tests.support.repository import names, read
from tests.support.samples import JOB
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.record import Record
from trainform.spec import Environment, Experiment
from trainform.spec.load import load_environment, parse
from trainform.stacks.drift.deployed_objects import environment_objects, recorded_objects

RICH = Environment.model_validate(ENVIRONMENT)
DEV = load_environment("dev").or_raise()
STACK = "vision/bert.dev"


def recorded(experiment: Experiment, environment: Environment = RICH, run: int = 1) -> tuple[Record, list[Any]]:
    """The record as the cluster keeps it, and the bodies of all objects."""
    plan = plan_job(experiment, environment, run)
    assert plan.record is not None
    copy = json.loads(json.dumps(msgspec.to_builtins(plan.record)))
    return Record(**copy), [manifest.body for manifest in job_manifests(plan)]


def bodies(record: Record) -> list[Any]:
    wanted = recorded_objects(record, STACK)
    assert (wanted.basis, wanted.notes) == ("record", ())
    return [manifest.body for manifest in wanted.manifests]


@pytest.mark.parametrize("backend", list(BACKENDS))
def test_every_teaching_experiment_is_rendered_as_it_was_deployed(backend: str) -> None:
    models = [
        Experiment.model_validate({**read("experiments", name), "backend": backend}) for name in names("experiments")
    ]
    able = [model for model in models if not job_problems(model, DEV)]
    assert able
    for model in able:
        record, made = recorded(model, DEV, 3)
        assert bodies(record) == made, model.name


@settings(max_examples=60)
@given(experiments())
def test_any_experiment_is_rendered_as_it_was_deployed(data: dict[str, Any]) -> None:
    model = parse(Experiment, data).model
    assume(model is not None and not job_problems(model, RICH, 2) and plan_job(model, RICH, 2).record is not None)
    assert model is not None
    record, made = recorded(model, RICH, 2)
    assert bodies(record) == made


def test_a_record_that_is_rendered_otherwise_is_of_another_version() -> None:
    record, _ = recorded(Experiment.model_validate(JOB))
    other = structs.replace(record, revision="0a1b2c", job="sdxl-lora-0a1b2c", version="0.9.0")
    wanted = recorded_objects(other, STACK)
    assert wanted.basis == "other version"
    assert "made by trainform 0.9.0" in wanted.notes[0]
    assert "only what others have written is compared" in wanted.notes[0]
    unknown = recorded_objects(structs.replace(record, revision="0a1b2c"), STACK)
    assert "made by an unknown version of trainform" in unknown.notes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": {"name": "sdxl-lora", "colour": "red"}},
        {"experiment": {}},
        {"environment": {"name": "dev"}},
        {"environment": {"accelerators": []}},
        {"environment": {"accelerators": {"a800": []}}},
    ],
)
def test_a_record_that_cannot_be_rendered_says_so(change: dict[str, Any]) -> None:
    record, _ = recorded(Experiment.model_validate(JOB))
    with pytest.raises(ValueError, match=r"made by trainform 0\.9\.0\. The present version, .* cannot render it"):
        recorded_objects(structs.replace(record, version="0.9.0", **change), STACK)


def test_an_environment_whose_file_is_wrong() -> None:
    wrong = Environment.model_validate({**ENVIRONMENT, "queues": {"a": {"parent": "b"}, "b": {"parent": "a"}}})
    with pytest.raises(ValueError, match="the environment's file is wrong: "):
        environment_objects(wrong)
