"""A stack that names a release runs the experiment in it, and the experiment's file no longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.releases import IMAGE, project, release
from tests.support.samples import JOB
from trainform.errors import InputError
from trainform.job.check import CheckedJob, check_experiment
from trainform.spec.release import digest
from trainform.spec.stack import load_stack, pinned_release

STACK = "sdxl-lora.prod"


def checked(root: Path, stack: str = STACK) -> CheckedJob:
    found = load_stack(stack, root)
    return check_experiment(found.given, found.environment, found.run, root)


def test_editing_the_experiment_moves_no_stack_that_names_a_release(tmp_path: Path) -> None:
    name = project(tmp_path, release())
    before = checked(tmp_path)
    assert (before.problems, before.release) == ((), name)
    file = tmp_path / "stacks" / "experiments" / "sdxl-lora.yaml"
    file.write_text(file.read_text().replace("replicas: 2", "replicas: 8"))
    assert checked(tmp_path).or_raise().plan == before.or_raise().plan
    assert checked(tmp_path, "sdxl-lora.dev").or_raise().plan.totals.pods == 8
    file.unlink()
    assert checked(tmp_path).or_raise().plan.experiment == "sdxl-lora"


def test_the_experiment_of_the_file_and_its_release_are_one_revision(tmp_path: Path) -> None:
    """What a release resolves is what the file meant."""
    parts: dict[str, Any] = {"storage": {"data": {"claim": "images", "mount": "/data"}}, "env": {"B": "1", "A": "2"}}
    project(tmp_path, release(**parts))
    file = tmp_path / "stacks" / "experiments" / "sdxl-lora.yaml"
    file.write_text(yaml.safe_dump({**JOB, "image": IMAGE, **parts}, sort_keys=False))
    of_file = check_experiment("sdxl-lora", "prod", 1, tmp_path).or_raise()
    assert checked(tmp_path).or_raise().plan.revision == of_file.plan.revision


def test_the_overlay_of_the_target_is_that_of_the_release(tmp_path: Path) -> None:
    overlays = {"prod": {"roles": {"worker": {"replicas": 16}}}, "gone": {"queue": "night"}}
    project(tmp_path, release(environments=overlays))
    found = checked(tmp_path)
    assert found.or_raise().plan.totals.pods == 16, "the file of an environment that is gone is not read"


def test_a_problem_is_in_the_line_of_the_release(tmp_path: Path) -> None:
    name = project(tmp_path, release(queue="closed"))
    (problem,) = checked(tmp_path).problems
    path = f"stacks/releases/sdxl-lora/{name}.yaml"
    assert (problem.path, problem.source) == ("queue", path)
    assert (tmp_path / path).read_text().splitlines()[problem.line - 1] == "  queue: closed"


@pytest.mark.parametrize("experiment", ["sdxl-lora", "bert"])
def test_a_release_that_is_not_there(experiment: str, tmp_path: Path) -> None:
    name = project(tmp_path, release())
    other = name if experiment == "bert" else "0123456789abcdef0123"
    stack = tmp_path / "stacks" / f"Pulumi.{STACK}.yaml"
    text = stack.read_text().replace("experiment: sdxl-lora", f"experiment: {experiment}")
    stack.write_text(text.replace(name, other))
    (problem,) = checked(tmp_path).problems
    assert problem.reason == f"there is no file stacks/releases/{experiment}/{other}.yaml"


def follow_file(root: Path, data: dict[str, Any]) -> str:
    """The stack follows a release that somebody has written by hand, with the hash that fits."""
    name = digest(data)
    path = root / "stacks" / "releases" / "sdxl-lora" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    stack = root / "stacks" / f"Pulumi.{STACK}.yaml"
    stack.write_text(
        f'config:\n  trainform:experiment: sdxl-lora\n  trainform:release: "{name}"\n  trainform:environment: prod\n'
    )
    return name


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        ({"release": 2}, "release", "this version of trainform does not know this form of a release"),
        ({"experiment": []}, "experiment", "the release holds no experiment"),
        (
            {"experiment": {**JOB, "name": "bert", "image": IMAGE}},
            "experiment.name",
            (
                "the release holds an experiment of another name, whose objects it would take over, and is one of "
                "sdxl-lora"
            ),
        ),
    ],
)
def test_a_file_with_its_hash_that_is_no_release_of_the_experiment(
    parts: dict[str, Any], path: str, reason: str, tmp_path: Path
) -> None:
    project(tmp_path)
    follow_file(tmp_path, {**release().data(), **parts})
    (problem,) = checked(tmp_path).problems
    assert (problem.path, problem.reason) == (path, reason)


@pytest.mark.parametrize("written", ["latest", "0123456789ABCDEF0123", "0123456789abcdef01234"])
def test_what_is_no_name_of_a_release(written: str, tmp_path: Path) -> None:
    name = project(tmp_path, release())
    stack = tmp_path / "stacks" / f"Pulumi.{STACK}.yaml"
    stack.write_text(stack.read_text().replace(name, written))
    with pytest.raises(InputError) as raised:
        load_stack(STACK, tmp_path)
    assert "20 hexadecimal digits" in raised.value.problems[0].reason
    assert pinned_release(STACK, tmp_path) is None
