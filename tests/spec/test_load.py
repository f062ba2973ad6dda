"""What a wrong part does to the rest: everything that is wrong is told, and nothing that only follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.samples import CLUSTER, JOB
from trainform.errors import CommandLineError, InputError
from trainform.job.check import load_experiment
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import find_file, load, parse, project_root
from trainform.spec.read import read_mapping


def paths(data: dict[str, Any]) -> list[str]:
    return [problem.path for problem in parse(Experiment, data).problems]


def test_the_rest_of_the_file_is_still_read() -> None:
    parsed = parse(Experiment, {**JOB, "shared_memory": "lots", "env": {"NCCL_DEBUG": 1, "A": "1"}})
    assert [problem.path for problem in parsed.problems] == ["shared_memory", "env.NCCL_DEBUG"]
    assert parsed.model is not None
    assert (parsed.model.shared_memory, parsed.model.env) == (None, {"A": "1"})


def test_what_must_be_there_is_stood_in_for() -> None:
    parsed = parse(Experiment, {"roles": {"worker": {"cpu": "many"}}, "launcher": {"torchrun": {}}})
    assert [problem.path for problem in parsed.problems] == [
        "name",
        "image",
        "launcher.torchrun.script",
        "roles.worker.cpu",
    ]
    assert parsed.model is not None


def test_names_that_went_with_a_mistake() -> None:
    parsed = parse(
        Environment,
        {**CLUSTER, "accelerators": {"a800": {"per_node": 8}, "l40s": CLUSTER["accelerators"]["l40s"]}},
    )
    assert parsed.left_out == {"a800"}


def test_without_roles_there_is_nothing_to_plan() -> None:
    assert parse(Experiment, {**JOB, "roles": "worker"}).model is None
    assert paths({**JOB, "roles": "worker"}) == ["roles"]


def test_merge_keys_and_aliases_are_read(tmp_path: Path) -> None:
    file = tmp_path / "resnet.yaml"
    file.write_text("base: &base {cpu: 8}\nroles:\n  worker: {<<: *base, memory: 1Gi}\n  master: *base\n")
    data, _ = read_mapping(file, "resnet.yaml")
    assert data["roles"] == {"worker": {"cpu": 8, "memory": "1Gi"}, "master": {"cpu": 8}}


def test_the_project_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    below = tmp_path / "stacks" / "experiments"
    below.mkdir(parents=True)
    assert project_root(below) == tmp_path
    (below / "resnet.yaml").write_text("name: resnet\n")
    assert find_file(Experiment, "resnet", tmp_path) == (below / "resnet.yaml", "stacks/experiments/resnet.yaml")


def test_no_project_at_all(tmp_path: Path) -> None:
    with pytest.raises(CommandLineError, match="there is no project here"):
        load_experiment("resnet", tmp_path)


@pytest.mark.parametrize(
    ("kind", "fix"), [(Experiment, "`trainform new bert -e ENV`"), (Environment, "`trainform new -e bert`")]
)
def test_a_project_without_files(tmp_path: Path, kind: type[Experiment] | type[Environment], fix: str) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    with pytest.raises(InputError, match=f"run {fix}"):
        find_file(kind, "bert", tmp_path)


def project(tmp_path: Path, folder: str, stem: str, name: str) -> Path:
    files = tmp_path / "stacks" / folder
    files.mkdir(parents=True)
    data = JOB if folder == "experiments" else CLUSTER
    (files / f"{stem}.yaml").write_text(yaml.safe_dump({**data, "name": name}))
    return tmp_path


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("resnet.yaml", "did you mean resnet?"),
        ("resnet.yml", "did you mean resnet?"),
        ("stacks/resnt.yaml", "did you mean resnet?"),
        ("bert.yaml", "check the path and its permissions"),
        ("\0.yaml", "correct the path"),
        ("lost.yaml", "check the path and its permissions"),  # a link: what is wrong is where it leads to
    ],
)
def test_the_name_with_a_suffix(tmp_path: Path, given: str, fix: str) -> None:
    """In `stacks/` a name finds the file; with a suffix it is a path, which counts from the current folder."""
    root = project(tmp_path, "experiments", "resnet", "resnet")
    (root / "stacks" / "experiments" / "lost.yaml").touch()
    (root / "lost.yaml").symlink_to("nowhere")
    (problem,) = load(Experiment, given, root).problems
    assert (problem.source, problem.fix) == (given, fix)


def test_the_name_of_a_stack(tmp_path: Path) -> None:
    root = project(tmp_path, "experiments", "hello", "hello")
    (root / "stacks" / "Pulumi.hello.dev.yaml").touch()
    for given in ("hello.dev", "hello.lab"):
        with pytest.raises(InputError) as caught:
            find_file(Experiment, given, root)
        assert [problem.fix for problem in caught.value.problems] == ["did you mean hello?"]


def test_a_wrong_name_is_told_once(tmp_path: Path) -> None:
    (problem,) = load_experiment("mine", project(tmp_path, "experiments", "mine", "Hello")).problems
    assert problem.reason.startswith("the value is not a DNS label")


@pytest.mark.parametrize("text", ["no", "on", "010", "0x10", "22:30", "1_000", "8.0", "2026-01-31 10:00:00", "~"])
def test_a_fix_repeats_what_stands_in_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"base: &base {{BEHIND: {text}}}\nenv: {{<<: *base, USE_AMP: {text}, QUOTED: '{text}'}}\n")
    data, source = read_mapping(file, "mine.yaml")
    found = parse(Experiment, {**JOB, "env": data["env"]}, source.written).problems
    assert [(problem.path, problem.value) for problem in found] == [("env.BEHIND", text), ("env.USE_AMP", text)]
    assert {problem.fix for problem in found} == {f'put it in quotes: "{text}"'}
