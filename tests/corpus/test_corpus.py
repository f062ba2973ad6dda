"""Published jobs, said as experiments: what is rendered asks for what their sources ask for.

A file for each kind has the experiments in our words, each with its source and a row of what the source asks for. A row
leaves out what each source works out by hand and trainform plans: ranks, addresses, hostfiles, SSH. Values that a
source leaves to its reader, such as an image of their own, are examples.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corpus.normaliser import main_container, normalise_job, normalise_row, plain, pods, words
from tests.support.repository import ROOT
from trainform.job.render import RenderedJob, render_job
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch

FOLDER = Path(__file__).parent
CLUSTER = yaml.safe_load((ROOT / "tests" / "environments" / "corpus.yaml").read_text())
# Of each file: the kind of its sources, and the backend that renders it.
KINDS = {
    "mpijob": ("kubeflow.org/v2beta1/MPIJob", "kubeflow"),
    "jobset": ("jobset.x-k8s.io/v1alpha2/JobSet", "jobset"),
    "job": ("batch/v1/Job", "kubernetes"),
    "pytorchjob": ("kubeflow.org/v1/PyTorchJob", "kubeflow"),
    "trainjob": ("trainer.kubeflow.org/v1alpha1/TrainJob", "trainer"),
    "vcjob": ("batch.volcano.sh/v1alpha1/Job", "volcano"),
    "tfjob": ("kubeflow.org/v1/TFJob", "kubeflow"),
}


def read(stem: str) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    cases: list[dict[str, Any]] = yaml.safe_load((FOLDER / f"{stem}.yaml").read_text())
    return cases


CASES = [{"of": KINDS[stem], "admission": "none", **case} for stem in KINDS for case in read(stem)]
REFERENCES = [{"admission": "volcano", **case} for case in read("references")]


def rendered(case: dict[str, Any], **environment: Any) -> tuple[Experiment, RenderedJob]:
    """Return the experiment of a case and its job, in the corpus's environment with further fields."""
    admitted = {**CLUSTER, "backend": case["of"][1], "admission": case["admission"], **environment}
    experiment = Experiment.model_validate(case["experiment"])
    return experiment, render_job(experiment, Environment.model_validate(admitted))


@pytest.mark.parametrize(
    "case", [*CASES, *REFERENCES], ids=lambda case: f"{case['of'][1]}-{case['experiment']['name']}"
)
def test_what_is_rendered_asks_for_what_the_source_asks_for(case: dict[str, Any]) -> None:
    kind, (experiment, job) = case["of"][0], rendered(case)
    assert job.problems == ()
    bodies = [manifest.body for manifest in job.manifests]

    asked, row = normalise_row(case["asks"]), case["asks"]
    in_row = {name for group in asked.values() for name in group["env"]}
    in_experiment = {*experiment.env, *(name for role in experiment.roles.values() for name in role.env)}
    assert normalise_job(bodies, kind, in_row | in_experiment) == asked

    for name, (_, pod) in pods(bodies, kind).items():
        found = iter(words(bodies, main_container(pod)))
        for word in plain(shlex.split({**row.get("all", {}), **row[name]}.get("command", ""))):
            assert word in found, f"{name}: {word} is not there, or not in its order"

    for kind, part in case.get("objects", {}).items():
        body = next(body for body in bodies if body["kind"] == kind)
        assert merge_patch(body, yaml.safe_load(yaml.dump(part).replace("REVISION", job.plan.revision))) == body


def by_fields_alone(case: dict[str, Any]) -> bool:
    """Return True if no merge patch is in the experiment."""
    return "_overrides" not in str(case["experiment"])


def test_the_reference_cases_are_said_by_fields_alone() -> None:
    assert len(REFERENCES) == 5
    assert all(map(by_fields_alone, REFERENCES))
