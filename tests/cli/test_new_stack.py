"""`trainform new EXPERIMENT -e ENVIRONMENT` of an experiment that exists: one more stack, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.making_files import files
from tests.cli.running import run
from tests.support.repository import copy_stacks

STACK = "stacks/Pulumi.resnet.prod.yaml"


@pytest.fixture
def two(project: Path) -> Path:
    """A project with two environments, and with resnet in the first one."""
    copy_stacks(project / "stacks", "*/*")
    copy_stacks(project / "stacks", "Pulumi.resnet.dev.yaml")
    return project


def test_an_experiment_that_exists_gets_one_more_stack(two: Path) -> None:
    before = files(two)
    code, out, err = run("new", "resnet", "-e", "prod")
    assert (code, err) == (0, "")
    assert files(two) - before == {STACK}
    promote = "trainform promote resnet --from dev --to resnet.prod"
    assert out.splitlines()[:4] == [f"wrote {STACK}", "next:", "  trainform plan resnet.prod", f"  {promote}"]
    assert yaml.safe_load((two / STACK).read_text()) == {
        "config": {"trainform:experiment": "resnet", "trainform:environment": "prod"}
    }
    assert run("plan", "resnet.prod")[0] == 0
    code, _, err = run("check", "resnet.prod")
    assert (code, promote in err) == (2, True), "prod has gates"


def test_what_the_environment_lacks_is_told_with_its_place(two: Path) -> None:
    code, out, _ = run("new", "mnist", "-e", "prod")
    assert code == 0
    assert (
        "under `environments: {prod: …}` in stacks/experiments/mnist.yaml; then\n  trainform check mnist -e prod\n"
        in out
    )
    assert run("check", "mnist.prod")[0] == 2


def beside(root: Path, mine: str, *options: str) -> tuple[int, str, str]:
    """What `new` says where the file of the stack is there already, which stays as it is."""
    (root / STACK).write_text(mine)
    said = run("new", "resnet", "-e", "prod", *options)
    assert (root / STACK).read_text() == mine
    return said


def test_a_stack_that_exists_is_told_and_stays(two: Path) -> None:
    mine = (
        "encryptionsalt: v1:L3jw4eYLX50=\nconfig:\n  trainform:experiment: resnet\n  trainform:environment: prod\n  "
        "trainform:run: 3\n"
    )
    code, out, _ = beside(two, mine)
    assert code == 0
    assert f"{STACK} exists already, and does not change: the stack resnet.prod runs resnet in prod" in out
    assert json.loads(beside(two, mine, "--output", "json")[1])["written"] == []


def test_a_stack_for_a_file_that_is_wrong_is_not_written(two: Path) -> None:
    path = two / "stacks/experiments/resnet.yaml"
    path.write_text(path.read_text().replace("replicas: 2", "replicas: two"))
    code, _, err = run("new", "resnet", "-e", "prod")
    assert code == 2
    assert "roles.node.replicas" in err
    assert not (two / STACK).exists()
