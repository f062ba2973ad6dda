"""What Pulumi calls the objects of two revisions: those of which both may exist at a time are two resources."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.backends.test_golden import EXPERIMENTS
from tests.support.rendering import job_problems, plan_job
from trainform.backends.backend import BACKENDS
from trainform.job.check import check_experiment
from trainform.job.render import job_manifests
from trainform.manifests.manifest import Manifest, resource_name
from trainform.plan.model import Plan

OF_A_REVISION = {"launch-script", "pod-group", "runtime"}


def revisions(name: str, backend: str) -> list[Plan]:
    """The experiment on the operator, before and after a change of its variables; empty where the operator cannot run
    it."""
    job = check_experiment(name, "dev").or_raise()
    experiment, environment = job.experiment, job.environment
    before = experiment.model_copy(update={"backend": backend})
    if job_problems(before, environment):
        return []
    after = before.model_copy(update={"env": {**before.env, "EPOCHS": "3"}})
    return [plan_job(before, environment), plan_job(after, environment)]


def objects(plan: Plan) -> Mapping[str, Manifest]:
    """The objects of a plan, by key."""
    return {manifest.key: manifest for manifest in job_manifests(plan)}


PAIRS = [pair for backend in BACKENDS for name in EXPERIMENTS if (pair := revisions(name, backend))]


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=lambda plan: f"{plan.experiment}-{plan.backend}")
def test_an_object_of_another_name_is_another_resource_and_the_job_is_one(before: Plan, after: Plan) -> None:
    assert before.revision != after.revision
    old, new = objects(before), objects(after)
    assert old.keys() == new.keys()
    for key in old:
        one, other = (resource_name(before.experiment, found[key]) for found in (old, new))
        renamed = old[key].body["metadata"]["name"] != new[key].body["metadata"]["name"]
        assert renamed == (key == "job" or key in OF_A_REVISION)
        expected = [
            f"{before.experiment}-{key}{f'-{made.revision}' * (key in OF_A_REVISION)}" for made in (before, after)
        ]
        assert [one, other] == expected


def test_every_kind_of_object_is_there() -> None:
    found = {(plan.backend, key) for plan, _ in PAIRS for key in objects(plan) if key in OF_A_REVISION}
    assert found == {(backend, "launch-script") for backend in BACKENDS} | {
        ("jobset", "pod-group"),
        ("kubernetes", "pod-group"),
        ("trainer", "runtime"),
    }
