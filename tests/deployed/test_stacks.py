"""From where to where: stacks by their names, or by their environments."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.releases import IMAGE, follow, project, release
from tests.support.repository import copy_stacks
from tests.support.samples import JOB
from trainform.deployed.stacks import files_read, is_pending, load_project_stack, places
from trainform.errors import InputError
from trainform.plan.inputs import resolved
from trainform.spec.experiment import Experiment
from trainform.spec.release import digest

DEV, PROD = "sdxl-lora.dev", "sdxl-lora.prod"


@pytest.mark.parametrize("source", ["dev", DEV, f"acme/vision/{DEV}"])
@pytest.mark.parametrize("target", ["prod", PROD])
def test_a_stack_or_its_environment(source: str, target: str, tmp_path: Path) -> None:
    project(tmp_path)
    found = places("sdxl-lora", source, target, tmp_path)
    assert [place.name for place in found] == [DEV, PROD]
    assert [place.environment.name for place in found] == ["dev", "prod"]


def test_a_stack_of_another_name(tmp_path: Path) -> None:
    project(tmp_path, stack="large")
    assert places("sdxl-lora", "dev", "prod", tmp_path)[1].name == "large"


@pytest.mark.parametrize(
    ("source", "target", "reasons", "fix"),
    [
        ("dev", DEV, ["this is the stack from which the release comes"], "name another one"),
        ("dve", "prdo", ["no stack and no environment of the project has this name"] * 2, "did you mean dev?"),
        (
            "nowhere",
            "prod",
            ["no stack and no environment of the project has this name"],
            (
                "known: dev, empty, prod, prod2, bert.prod, broken, sdxl-lora.dev, sdxl-lora.one, sdxl-lora.prod, "
                "sdxl-lora.two"
            ),
        ),
        ("dev", "bert.prod", ["this stack runs bert"], "name a stack of sdxl-lora, or promote bert"),
        (
            "dev",
            "empty",
            ["no stack of the project runs sdxl-lora there; the files of broken cannot be read"],
            "`trainform new sdxl-lora -e empty` writes one",
        ),
        ("dev", "prod2", ["sdxl-lora.one, sdxl-lora.two run sdxl-lora there"], "name one of them"),
    ],
)
def test_what_is_no_stack_of_the_experiment(
    source: str, target: str, reasons: list[str], fix: str, tmp_path: Path
) -> None:
    project(tmp_path)
    stacks = tmp_path / "stacks"
    for name, runs, where in (
        ("bert.prod", "bert", "prod"),
        ("sdxl-lora.one", "sdxl-lora", "prod2"),
        ("sdxl-lora.two", "sdxl-lora", "prod2"),
    ):
        text = f"config:\n  trainform:experiment: {runs}\n  trainform:environment: {where}\n"
        (stacks / f"Pulumi.{name}.yaml").write_text(text)
    for name in ("empty", "prod2"):
        text = (stacks / "environments" / "prod.yaml").read_text().replace("name: prod", f"name: {name}")
        (stacks / "environments" / f"{name}.yaml").write_text(text)
    (stacks / "Pulumi.broken.yaml").write_text("config: [")
    with pytest.raises(InputError) as raised:
        places("sdxl-lora", source, target, tmp_path)
    assert [problem.reason for problem in raised.value.problems] == reasons
    assert raised.value.problems[0].fix == fix


@pytest.mark.parametrize(
    ("experiment", "source", "problem"),
    [
        (DEV, "dev", ("EXPERIMENT", "this is not the name of an experiment", "known: sdxl-lora")),
        ("sdxl", DEV, ("--from", "this stack runs sdxl-lora", "name a stack of sdxl, or promote sdxl-lora")),
    ],
)
def test_what_is_no_experiment(experiment: str, source: str, problem: tuple[str, ...], tmp_path: Path) -> None:
    project(tmp_path)
    with pytest.raises(InputError) as raised:
        places(experiment, source, "prod", tmp_path)
    found = raised.value.problems[0]
    assert (found.path, found.reason, found.fix) == problem


@pytest.mark.parametrize(
    ("source", "target"), [("resnet.dev", "resnet.prod"), ("dev", "prod"), ("me/trainform/dev", "prod")]
)
def test_an_environments_own_stack_stands_for_the_environment(source: str, target: str, tmp_path: Path) -> None:
    """It has the environment's name, as `trainform new --environment` calls it."""
    copy_stacks(tmp_path / "stacks")
    prod = "config: {trainform:experiment: resnet, trainform:environment: prod}\n"
    (tmp_path / "stacks" / "Pulumi.resnet.prod.yaml").write_text(prod)
    (tmp_path / "Pulumi.yaml").write_text("name: trainform\nruntime: python\n")
    found = places("resnet", source, target, tmp_path)
    assert [(place.name, place.environment.name) for place in found] == [("resnet.dev", "dev"), ("resnet.prod", "prod")]


def test_a_stack_reads_the_files_that_its_experiment_names(tmp_path: Path) -> None:
    """Also those of other environments, which its record has, and those that are missing."""
    project(tmp_path)
    path = tmp_path / "stacks" / "experiments" / "sdxl-lora.yaml"
    files = {"files": {"/a.sh": {"file": "scripts/a.sh"}}, "environments": {"prod": {"files": {"/b": {"file": "b"}}}}}
    path.write_text(yaml.safe_dump({**JOB, **files}))
    stack = load_project_stack(DEV, tmp_path).stack
    assert {"scripts/a.sh", "b", "stacks/experiments/sdxl-lora.yaml"} <= files_read(DEV, stack, tmp_path)


def test_a_stack_is_pending_where_it_names_another_experiment_than_the_deployed_one(tmp_path: Path) -> None:
    """Whichever name it has: the same content by a second release, or from the file, is not pending."""
    project(tmp_path)
    follow(release(environments={"prod": {"env": {}}}), PROD, tmp_path)
    prod, dev = (load_project_stack(name, tmp_path) for name in (PROD, DEV))
    assert not is_pending(prod, digest(resolved(Experiment.model_validate({**JOB, "image": IMAGE}))), tmp_path)
    assert not is_pending(dev, digest(resolved(Experiment.model_validate(JOB))), tmp_path)
    assert is_pending(dev, digest(resolved(Experiment.model_validate({**JOB, "image": IMAGE}))), tmp_path)
