"""One pass from two models to plan, objects and problems."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.support.samples import environment, experiment
from trainform.cli.main import main
from trainform.job import objects
from trainform.job.check import check_experiment
from trainform.job.objects import job_manifests
from trainform.job.render import render_job
from trainform.manifests.objects import launch_files
from trainform.plan.build import DRAFT_REVISION, build_plan


def test_plan_and_objects_belong_together() -> None:
    job = render_job(experiment(), environment(), run=3)
    assert job.problems == ()
    assert job.plan.run == 3
    assert job.plan.revision != DRAFT_REVISION
    assert list(job.manifests) == job_manifests(job.plan)
    assert set(job.crds) == {"jobs.batch.volcano.sh", "queues.scheduling.volcano.sh"}


def test_what_is_wrong_has_a_draft_of_everything() -> None:
    job = render_job(experiment(queue="nowhere"), environment())
    assert [problem.path for problem in job.problems] == ["queue"]
    assert job.plan.revision == DRAFT_REVISION
    assert list(job.manifests) == job_manifests(job.plan)


def test_models_from_python_are_checked_as_files_are() -> None:
    wrong = environment(queues={"default": {"parent": "nowhere"}})
    found = {problem.path for problem in check_experiment(experiment(queue="nowhere"), wrong).problems}
    assert found == {"queues.default.parent", "queue"}


@pytest.mark.parametrize("verb", ["check", "plan", "render"])
def test_a_verb_plans_and_renders_once(verb: str) -> None:
    with (
        patch.object(objects, "build_plan", wraps=build_plan) as planned,
        patch.object(objects, "launch_files", wraps=launch_files) as rendered,
        pytest.raises(SystemExit) as exit_,
    ):
        main([verb, "hello", "-e", "dev", "--quiet"])
    assert exit_.value.code in (0, None)
    assert (planned.call_count, rendered.call_count) == (1, 1)
