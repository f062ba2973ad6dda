"""A release is a file of its own, whose name is the hash of what is in it."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings

from tests.support.generators import ENVIRONMENT, experiments
from tests.support.releases import ORIGIN, PROMOTED, project, release, write_release
from tests.support.rendering import job_problems
from trainform import defaults
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import as_text, read_release, releases_of
from trainform.errors import InputError, TrainformError
from trainform.plan.inputs import parse_dates, resolved
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.read import parse_mapping
from trainform.spec.release import digest

WAIVER = {
    "rule": "TF-SEC-1",
    "finding": "0123456789abcdef",
    "reason": "the exporter needs it",
    "owner": "team-lead",
    "until": datetime.date(2026, 12, 1),
}


def path_of(root: Path, name: str) -> Path:
    return root / "stacks" / "releases" / "sdxl-lora" / f"{name}.yaml"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    overlay = {"roles": {"worker": {"replicas": 16}}, "queue": "night", "waivers": [WAIVER]}
    made = release(waivers=[WAIVER], environments={"prod": overlay, "dev": {"env": {"NCCL_DEBUG": None}}})
    name = write_release(made, tmp_path)
    assert name == made.name
    assert read_release("sdxl-lora", name, tmp_path) == made
    assert path_of(tmp_path, name).read_text().startswith("# A release, written by trainform.")


@settings(max_examples=25)
@given(experiments())
def test_every_experiment_can_be_released(data: dict[str, object]) -> None:
    model = parse(Experiment, data).model
    assume(model is not None and not job_problems(model, Environment.model_validate(ENVIRONMENT)))
    assert model is not None
    recorded = json.loads(json.dumps(resolved(model)))  # as the cluster has it
    made = Release(experiment=parse_dates(recorded), origin=ORIGIN, promoted=PROMOTED)
    read = parse_mapping(as_text(made), "").data
    assert digest(read) == made.name
    assert resolved(Experiment.model_validate(read["experiment"])) == resolved(model)


def test_an_edited_file_is_refused_by_name(tmp_path: Path) -> None:
    name = write_release(release(), tmp_path)
    path = path_of(tmp_path, name)
    path.write_text(path.read_text().replace("replicas: 2", "replicas: 3"))
    with pytest.raises(InputError) as raised:
        read_release("sdxl-lora", name, tmp_path)
    (problem,) = raised.value.problems
    assert problem.source == f"stacks/releases/sdxl-lora/{name}.yaml"
    assert "has been changed" in problem.reason
    with pytest.raises(InputError, match="1 problem"):
        releases_of("sdxl-lora", tmp_path)
    with pytest.raises(InputError, match="1 problem"):
        write_release(release(), tmp_path)


def test_a_form_of_another_version_is_refused(tmp_path: Path) -> None:
    data = {**release().data(), "release": 2, "signature": "x"}
    name = digest(data)
    text = as_text(release()).replace("release: 1", "release: 2") + "signature: x\n"
    path = path_of(tmp_path, name)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_release("sdxl-lora", name, tmp_path)
    assert {problem.path for problem in raised.value.problems} == {"release", "signature"}
    assert all("version" in problem.fix for problem in raised.value.problems)


def test_a_release_that_is_there_already_stays(tmp_path: Path) -> None:
    name = write_release(release(), tmp_path)
    before = path_of(tmp_path, name).stat()
    assert write_release(release(), tmp_path) == name
    assert path_of(tmp_path, name).stat().st_ino == before.st_ino


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TrainformError, match="more than 1048576 bytes"):
        write_release(release(env={"NOTES": "x" * defaults.LARGEST_FILE}), tmp_path)
    assert not (tmp_path / "stacks").exists()


def test_the_oldest_release_comes_first(tmp_path: Path) -> None:
    name = project(tmp_path, release())
    other = write_release(release(PROMOTED.model_copy(update={"at": "2026-11-20T08:00:00Z"})), tmp_path)
    assert list(releases_of("sdxl-lora", tmp_path)) == [other, name], "the oldest first"
