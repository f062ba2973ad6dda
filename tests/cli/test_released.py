"""The commands take the experiment of a stack from its release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.support.releases import project, release
from trainform.review.stack_choice import chosen_by, files_read
from trainform.review.touched import touched

STACK = "sdxl-lora.prod"


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project, in which the commands run, whose stack follows this release."""
    monkeypatch.chdir(tmp_path)
    return project(tmp_path, release(roles={"worker": {"replicas": 5}}))


def test_the_plan_says_the_release(name: str) -> None:
    code, out, err = run("plan", "-s", STACK)
    assert (code, err) == (0, "")
    assert out.startswith(f"sdxl-lora, release {name}, in prod: ")
    planned = json.loads(run("plan", "-s", STACK, "--json")[1])
    assert (planned["release"], len(planned["pods"])) == (name, 5)
    other = json.loads(run("plan", "-s", "sdxl-lora.dev", "--json")[1])
    assert ("release" in other, len(other["pods"])) == (False, 2)


def test_check_and_render_take_the_release(name: str, tmp_path: Path) -> None:
    (tmp_path / "stacks" / "experiments" / "sdxl-lora.yaml").unlink()
    assert run("check", "-s", STACK)[0] == 0
    assert "replicas: 5" in run("render", "-s", STACK)[1]


def test_an_edited_release_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "stacks" / "releases" / "sdxl-lora" / f"{name}.yaml"
    path.write_text(path.read_text().replace("replicas: 5", "replicas: 6"))
    code, out, err = run("check", "-s", STACK)
    assert (code, out) == (2, "")
    assert f"stacks/releases/sdxl-lora/{name}.yaml: (whole file)" in err
    assert "has been changed" in err


def test_a_review_of_changed_files_knows_that_the_release_is_read(name: str, tmp_path: Path) -> None:
    path = f"stacks/releases/sdxl-lora/{name}.yaml"
    reads = {stack: files_read(stack, chosen_by(stack, tmp_path), tmp_path) for stack in (STACK, "sdxl-lora.dev")}
    assert touched([path], reads) == {STACK: [path]}
    assert touched(["stacks/experiments/sdxl-lora.yaml"], reads) == {
        "sdxl-lora.dev": ["stacks/experiments/sdxl-lora.yaml"]
    }
    assert touched(["stacks/releases/sdxl-lora/0123456789abcdef0123.yaml"], reads) == {}
