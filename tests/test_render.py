"""One pass from two models to plan, objects and problems."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.support.samples import environment, experiment
from trainform import objects
from trainform.backends.table import BACKENDS
from trainform.check import check_experiment
from trainform.cli.main import main
from trainform.manifests.objects import launch_files
from trainform.objects import job_manifests
from trainform.plan.build import DRAFT_REVISION, build_plan
from trainform.render import render_job


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


@pytest.mark.parametrize("backend", BACKENDS)
def test_variables_that_no_rule_sees_are_a_note(backend: str) -> None:
    patch = {"spec": {"containers": {"main": {"envFrom": [{"configMapRef": {"name": "devices"}}]}}}}
    env = {
        "MODE": {"config_map": {"name": "tuning", "key": "mode"}},
        "HF_TOKEN": {"secret": {"name": "hf", "key": "token"}},
    }
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2, "pod_overrides": patch}}
    job = render_job(experiment(backend=backend, roles=roles, env=env), environment())
    assert job.problems == ()
    told = [note for note in job.plan.notes if "limits do not see" in note]
    assert sorted(note.partition(":")[0] for note in told) == [
        "ConfigMap devices",
        "ConfigMap tuning",
    ]
    devices = next(note for note in told if "devices" in note)
    assert "worker (spec.containers." in devices
    assert "master" not in devices
    plain = render_job(
        experiment(backend=backend, roles={"master": {"replicas": 1}, "worker": {"replicas": 2}}), environment()
    )
    assert [note for note in plain.plan.notes if "limits do not see" in note] == []


def test_models_from_python_are_checked_as_files_are() -> None:
    wrong = environment(queues={"default": {"parent": "nowhere"}})
    found = {problem.path for problem in check_experiment(experiment(queue="nowhere"), wrong).problems}
    assert found == {"queues.default.parent", "queue"}


@pytest.mark.parametrize("verb", ["check", "plan", "render"])
def test_a_verb_plans_and_renders_once_under_the_draft_and_once_under_the_revision(verb: str) -> None:
    with (
        patch.object(objects, "build_plan", wraps=build_plan) as planned,
        patch.object(objects, "launch_files", wraps=launch_files) as rendered,
        pytest.raises(SystemExit) as exit_,
    ):
        main([verb, "hello", "-e", "dev", "--quiet"])
    assert exit_.value.code in (0, None)
    assert (planned.call_count, rendered.call_count) == (2, 2)
