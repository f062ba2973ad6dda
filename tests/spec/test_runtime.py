"""An existing runtime of Trainer's that an experiment names, with the file that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.samples import environment, experiment
from trainform.errors import InputError
from trainform.job.check import check_experiment, load_experiment
from trainform.spec.load import LoadResult, read_runtime
from trainform.spec.read import NOWHERE

EXPERIMENT = """\
name: hello
image: registry.example.com/hello:1
launcher: {command: [hello]}
roles: {worker: {}}
runtime: {name: shared, file: runtimes/shared.yaml}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "runtimes" / "shared.yaml").write_text("kind: ClusterTrainingRuntime\n")
    (tmp_path / "hello.yaml").write_text(EXPERIMENT)
    return tmp_path


def test_the_file_counts_from_the_projects_folder(project: Path) -> None:
    loaded = load_experiment("hello.yaml", project)
    assert loaded.problems == ()
    assert loaded.model is not None
    runtime = loaded.model.runtime
    assert runtime is not None
    assert (runtime.kind, runtime.content) == ("ClusterTrainingRuntime", {"kind": "ClusterTrainingRuntime"})


def test_an_experiment_written_in_python(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    made = experiment(runtime={"name": "shared", "file": "runtimes/shared.yaml"})
    assert made.runtime is not None
    assert made.runtime.content is None
    job = check_experiment(made, environment()).job
    assert job is not None
    read = job.experiment
    assert read.runtime is not None
    assert read.runtime.content == {"kind": "ClusterTrainingRuntime"}
    assert read.model_dump() == made.model_dump(), "what is in the file is no field"


def test_without_a_file_nothing_is_read() -> None:
    loaded = LoadResult(experiment(runtime={"name": "shared"}), (), NOWHERE)
    assert read_runtime(loaded) is loaded


def test_a_file_that_is_not_there_is_one_more_problem(project: Path) -> None:
    (project / "runtimes" / "shared.yaml").unlink()
    (project / "hello.yaml").write_text(EXPERIMENT + "queu: default\n")
    problems = load_experiment("hello.yaml", project).problems
    assert [problem.path for problem in problems] == ["queu", ""]
    assert problems[1].source == "runtimes/shared.yaml"
    with pytest.raises(InputError):
        load_experiment("hello.yaml", project).or_raise()


def test_ssh_is_the_runtimes() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        experiment(runtime={"name": "shared"}, ssh={})
