"""A backend that trainform does not have is added by its class and a row of the table; everything else follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Golden
from tests.support.app_wrapper import NAME, OWNER_LABEL, registered
from tests.support.samples import JOB, WITH_EXTRAS, environment, reasons
from tools.docs.backends import comparison_page
from tools.docs.launch_contract import contract_page
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.operators import operators, project_of
from trainform.errors import Problem
from trainform.job.check import check_experiment
from trainform.job.render import render_job
from trainform.local.doctor.cluster import experiment_kinds
from trainform.local.scaffold.new_environment import skeleton
from trainform.manifests.manifest import to_yaml
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse

HERE = Path(__file__).parent
EXTRAS: dict[str, Any] = {"roles": WITH_EXTRAS}


@pytest.fixture
def own() -> Iterator[str]:
    with registered() as name:
        yield name


def refused(**parts: Any) -> list[Problem]:
    return list(parse(Experiment, {**JOB, **parts}).problems)


def test_its_name_is_known_as_long_as_it_is_registered() -> None:
    (before,) = refused(backend=NAME)
    assert (before.path, before.value) == ("backend", NAME)
    assert before.reason == "the value must be 'volcano', 'jobset', 'trainer', 'kubeflow', 'kubedl' or 'kubernetes'"
    with registered():
        assert refused(backend=NAME) == []
        (wrong,) = refused(backend="appwraper")
        assert wrong.reason.endswith(", 'kubernetes' or 'appwrapper'")
        assert wrong.fix == "did you mean appwrapper?"
    assert NAME not in BACKENDS
    assert [problem.path for problem in refused(backend=NAME)] == ["backend"]


def test_a_teaching_experiment(own: str, golden: Golden) -> None:
    """Its own objects, as `trainform render` prints them."""
    read = check_experiment("sdxl-lora", "dev").or_raise()
    made = render_job(read.experiment.model_copy(update={"backend": own}), read.environment)
    assert made.problems == ()
    golden(
        HERE / "appwrapper" / "sdxl-lora.yaml",
        to_yaml([made_here for made_here in made.manifests if made_here.key in ("pod-group", "job")]),
    )


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        ({"policies": []}, "policies", "lifecycle policies are Volcano's, and AppWrapper has none"),
        ({"runtime": {"name": "torch"}}, "runtime", "only Kubeflow Trainer has runtimes"),
        (
            {"restart": "all-when-evicted"},
            "roles.worker.restart",
            "the value restarts the whole job, whichever pod has failed, and an AppWrapper cannot do that",
        ),
        (
            {"roles": {f"part-{number}": {} for number in range(9)}},
            "roles",
            "make 9 sets of pods, and an AppWrapper has at most 8",
        ),
        (
            {"roles": {"worker": {"labels": {OWNER_LABEL: "mine"}}}},
            f"roles.worker.labels.{OWNER_LABEL}",
            "the key is set by the operator itself",
        ),
        (
            {"manifest_overrides": {"job": {"spec": {"components": None}}}},
            "manifest_overrides.job.spec.components",
            "the patch removes a part that the plan owns",
        ),
    ],
)
def test_problems_of_the_backend(own: str, parts: dict[str, Any], path: str, reason: str) -> None:
    assert reasons(backend=own, **parts)[path] == reason


def test_fixes_name_the_backends_that_can(own: str) -> None:
    """It is offered where another one cannot, and is never offered for what it lacks itself."""

    def fix(path: str, **parts: Any) -> str:
        made = Experiment.model_validate({**JOB, **parts})
        return next(problem.fix for problem in render_job(made, environment()).problems if problem.path == path)

    extra = fix("roles.evaluation-watcher.ranked", backend="kubeflow", **EXTRAS)
    assert extra == "remove the role, or use the backend volcano, jobset, trainer or appwrapper"
    anew = fix("roles.worker.restart", backend=own, restart="all-when-evicted")
    assert anew == "write on-failure, or use the backend volcano, jobset or trainer"
    runtime = fix("runtime", backend=own, runtime={"name": "torch"})
    assert runtime == "remove it, or use the backend trainer"


def test_checks_of_clusters_know_the_backend(own: str) -> None:
    assert [*operators()][-3:-1] == [own, defaults.KUEUE]
    assert project_of("appwrappers.workload.codeflare.dev") == "AppWrapper"
    wanted = {"appwrappers.workload.codeflare.dev", "podgroups.scheduling.volcano.sh"}
    assert wanted <= {*experiment_kinds(own, defaults.VOLCANO)}
    assert "podgroups.scheduling.volcano.sh" not in experiment_kinds(own, defaults.KUEUE)


def test_pages_and_new_files_name_it(own: str) -> None:
    assert f"- **{own}**: AppWrapper (`workload.codeflare.dev/v1beta2`)" in comparison_page()
    assert f"**{own}**: the index in the label `batch.kubernetes.io/job-completion-index`;" in " ".join(
        contract_page().split()
    )
    assert f"# backend: volcano   # or jobset, trainer, kubeflow, kubedl, kubernetes, {own}\n" in skeleton("prod")
