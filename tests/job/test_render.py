"""One pass from two models to plan, objects and problems."""

from __future__ import annotations

import copy
import re
from typing import Any
from unittest.mock import patch

import pytest
from msgspec import structs

from tests.support.samples import WITH_EXTRAS, environment, experiment, fitting, plan
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cli.main import main
from trainform.job import render
from trainform.job.check import check_experiment
from trainform.job.render import (
    choose_placeholder,
    draft_plan,
    immutable_part,
    job_manifests,
    put_revision,
    render_job,
    revision,
)
from trainform.manifests.manifest import to_yaml
from trainform.manifests.objects import launch_files
from trainform.plan.build import DRAFT_REVISION, build_plan
from trainform.spec.experiment import Experiment


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
        patch.object(render, "build_plan", wraps=build_plan) as planned,
        patch.object(render, "launch_files", wraps=launch_files) as rendered,
        pytest.raises(SystemExit) as exit_,
    ):
        main([verb, "hello", "-e", "dev", "--quiet"])
    assert exit_.value.code in (0, None)
    assert (planned.call_count, rendered.call_count) == (1, 1)


JOB: dict[str, Any] = {
    "spec": {
        "minAvailable": 8,
        "queue": "default",
        "tasks": [{"name": "worker", "replicas": 7}, {"name": "master"}],
        "roles": {"Worker": {"replicas": 7, "restartPolicy": "Never"}, "Master": {}},
    }
}


def test_paths_are_left_out_and_the_body_is_left_alone() -> None:
    before = copy.deepcopy(JOB)
    paths = ("spec.minAvailable", "spec.tasks.*.replicas", "spec.roles.*.replicas")
    assert immutable_part(JOB, paths) == {
        "queue": "default",
        "tasks": [{"name": "worker"}, {"name": "master"}],
        "roles": {"Worker": {"restartPolicy": "Never"}, "Master": {}},
    }
    assert before == JOB


def test_a_path_that_leads_nowhere_changes_nothing() -> None:
    for path in ("spec.suspend", "spec.runPolicy.suspend", "spec.tfReplicaSpecs.*.replicas"):
        assert immutable_part(JOB, [path]) == JOB["spec"]


def test_paths_that_change_in_place_on_volcano() -> None:
    made = plan(priority_class="urgent", roles=WITH_EXTRAS)
    volcano = BACKENDS["volcano"]
    part = immutable_part(volcano.job(made).body, volcano.IN_PLACE)
    assert not {"minAvailable", "priorityClassName"} & part.keys()
    assert not any({"replicas", "minAvailable"} & task.keys() for task in part["tasks"])


def test_the_revision_follows_from_the_objects_the_plan_and_the_paths() -> None:
    """The same objects give the same revision; what may change in place is the only thing that does not count."""
    made = plan(roles=WITH_EXTRAS)
    volcano = BACKENDS["volcano"]
    manifests = job_manifests(made)
    before = revision(manifests, made, volcano.IN_PLACE)
    assert re.fullmatch(r"[0-9a-f]+", before) and before == revision(iter(manifests), made, volcano.IN_PLACE)
    assert revision(manifests, made, ()) != before
    [index] = [index for index, manifest in enumerate(manifests) if manifest.key == "job"]
    for path, follows in (("minAvailable", False), ("queue", True)):
        body = copy.deepcopy(manifests[index].body)
        body["spec"][path] = "other"
        changed = [*manifests[:index], structs.replace(manifests[index], body=body), *manifests[index + 1 :]]
        assert (revision(changed, made, volcano.IN_PLACE) != before) == follows


def test_ranks_count_where_the_backend_could_change_their_number() -> None:
    """Volcano changes `replicas` in place; WORLD_SIZE and ranks would be wrong, unless torchrun deals them out."""
    made = plan(roles=WITH_EXTRAS)
    manifests, paths = job_manifests(made), BACKENDS["volcano"].IN_PLACE
    grown = structs.replace(
        made, roles=tuple(structs.replace(role, replicas=role.replicas + role.ranked) for role in made.roles)
    )
    assert revision(manifests, made, paths) != revision(manifests, grown, paths)


FIRST = choose_placeholder()
# Values that a plain replacement of the placeholder or of the draft's revision would change.
STEPS = ["python", "train.py", "--steps", "3000000", f"--tag=000000-{FIRST}", "--size=0.000000", f"--run=x-{FIRST}-0"]


@pytest.mark.parametrize("backend", defaults.BACKENDS)
def test_the_revision_is_put_into_names_alone(backend: str) -> None:
    """The objects are those that the plan renders under this revision from the beginning."""
    worker = {"replicas": 2, "accelerators": {"a800": 8}, "memory": "20G", "labels": {FIRST: FIRST}}
    roles = fitting(backend, {"master": {**worker, "replicas": 1}, "worker": worker})
    made = experiment(
        backend=backend, launcher={"command": STEPS}, roles=roles, env={"A": "000000", FIRST: "x", "B": FIRST}
    )
    job = render_job(made, environment())
    assert job.problems == ()
    draft = draft_plan(made, environment())
    assert job.plan.revision == revision(job_manifests(draft), draft, BACKENDS[backend].IN_PLACE)
    fresh = draft_plan(made, environment(), revision=job.plan.revision)
    later = {name: getattr(job.plan, name) for name in ("record", "ends_with", "notes", "changes")}
    assert structs.replace(fresh, **later) == job.plan
    assert list(job.manifests) == job_manifests(job.plan) == job_manifests(structs.replace(fresh, **later))
    assert all(word in to_yaml(job.manifests) for word in STEPS)


def test_a_placeholder_occurs_nowhere_in_the_models() -> None:
    others = [choose_placeholder(), choose_placeholder({FIRST: 1}), choose_placeholder([f"a{FIRST}b"], ("zzzzzy",))]
    assert others[0] == FIRST and len({FIRST, others[1], others[2]}) == 3
    assert all(re.fullmatch("[a-z]{6}", word) for word in others)
    text = FIRST[1:] + "x" * (
        ord(FIRST[0]) - len(FIRST) + 1
    )  # its length, as a byte, is the placeholder's first letter
    assert put_revision([text], choose_placeholder(text), "1f3a9c") == [text]


def test_an_experiment_may_be_of_a_class_of_the_users_program() -> None:
    class OurExperiment(Experiment):
        pass

    made = OurExperiment.model_validate(experiment().user_set())
    assert render_job(made, environment()).plan == render_job(experiment(), environment()).plan
