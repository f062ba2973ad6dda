"""The commands take the experiment of a stack from its release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.reviewing import events, read
from tests.cli.running import run
from tests.support import previews
from tests.support.releases import PROMOTED, project, release
from trainform.deployed.stacks import files_read
from trainform.review.touched import touched
from trainform.spec.stack import load_any_stack

STACK = "sdxl-lora.prod"


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project, in which the commands run, whose stack follows this release."""
    monkeypatch.chdir(tmp_path)
    return project(tmp_path, release(roles={"worker": {"replicas": 5}}))


def test_the_plan_says_the_release(name: str) -> None:
    code, out, err = run("plan", STACK)
    assert (code, err) == (0, "")
    assert out.startswith(f"sdxl-lora, release {name}, in prod: ")
    planned = json.loads(run("plan", STACK, "--output", "json")[1])
    assert (planned["release"], len(planned["pods"])) == (name, 5)
    other = json.loads(run("plan", "sdxl-lora.dev", "--output", "json")[1])
    assert (other["release"], len(other["pods"])) == (None, 2)


def test_check_and_render_take_the_release(name: str, tmp_path: Path) -> None:
    (tmp_path / "stacks" / "experiments" / "sdxl-lora.yaml").unlink()
    assert run("check", STACK)[0] == 0
    assert "replicas: 5" in run("render", STACK)[1]


def test_an_edited_release_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "stacks" / "releases" / "sdxl-lora" / f"{name}.yaml"
    path.write_text(path.read_text().replace("replicas: 5", "replicas: 6"))
    code, out, err = run("check", STACK)
    assert (code, out) == (2, "")
    assert f"stacks/releases/sdxl-lora/{name}.yaml: (whole file)" in err
    assert "has been changed" in err


def test_a_review_of_changed_files_knows_that_the_release_is_read(name: str, tmp_path: Path) -> None:
    path = f"stacks/releases/sdxl-lora/{name}.yaml"
    reads = {stack: files_read(stack, load_any_stack(stack, tmp_path), tmp_path) for stack in (STACK, "sdxl-lora.dev")}
    assert touched([path], reads) == {STACK: [path]}
    assert touched(["stacks/experiments/sdxl-lora.yaml"], reads) == {
        "sdxl-lora.dev": ["stacks/experiments/sdxl-lora.yaml"]
    }
    assert touched(["stacks/releases/sdxl-lora/0123456789abcdef0123.yaml"], reads) == {}


PROMOTE = f"trainform promote sdxl-lora --from dev --to {STACK}"


def gated(root: Path, target: str, **promotion: object) -> str:
    """A stack that follows a release of the target, in an environment with a gate; the release's name."""
    name = project(root, release(PROMOTED.model_copy(update={"target": target, "gates": {"from": "passed"}})))
    path = root / "stacks" / "environments" / "prod.yaml"
    asked = {"promotion": {"from": ["dev"], **promotion}}
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | asked, sort_keys=False))
    return name


def without_release(root: Path) -> None:
    path = root / "stacks" / f"Pulumi.{STACK}.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "release" not in line))


def test_check_of_a_stack_holds_the_gates_and_other_commands_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gated(tmp_path, STACK)
    assert run("check", STACK)[0] == 0
    without_release(tmp_path)
    code, _, err = run("check", STACK)
    assert (code, f"stacks/Pulumi.{STACK}.yaml: trainform:release" in err, PROMOTE in err) == (2, True, True)
    (described,) = json.loads(run("check", STACK, "--output", "json")[1])["experiments"]
    assert [problem["path"] for problem in described["problems"]] == ["trainform:release"]
    for words in (("check", "sdxl-lora", "-e", "prod"), ("plan", STACK), ("render", STACK)):
        assert run(*words)[0] == 0
    gated(tmp_path, STACK, required=False)
    without_release(tmp_path)
    assert run("check", STACK)[0] == 0


def test_check_notes_a_gate_that_was_added_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = gated(tmp_path, STACK, soak="24h")
    told = f"Release {name} has neither passed nor waived the gate soak of prod."
    code, out, _ = run("check", STACK)
    assert (code, f"note: {told}" in " ".join(out.split())) == (0, True)
    (described,) = json.loads(run("check", STACK, "--output", "json")[1])["experiments"]
    assert told in described["notes"]


def test_a_review_finds_what_the_stack_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = gated(tmp_path, "sdxl-lora.staging")
    preview = previews.stream(*events()).replace("urn:pulumi:dev::", f"urn:pulumi:{STACK}::")
    (tmp_path / "preview.json").write_text(preview, encoding="utf-8")
    found = [("TR-PROMOTION-1", "high", name)]
    for _ in range(2):
        (report,) = read("--preview-json", str(tmp_path / "preview.json")).stacks
        promotion = [each for each in report.findings if each.category == "promotion"]
        assert [(each.code, each.level, each.object) for each in promotion] == found
        without_release(tmp_path)
        found = [("TR-PROMOTION-3", "high", STACK)]
    words = ("review", "--no-cluster", "--preview-json", str(tmp_path / "preview.json"), "--fail-on", "promotion")
    assert run(*words)[0] == 3

    gated(tmp_path, STACK)
    assert run(*words)[0] == 0
    (report,) = read("--preview-json", str(tmp_path / "preview.json")).stacks
    assert report.origin is not None
    assert report.origin.passed == ["from"]
