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


def edited(root: Path, target: str) -> str:
    """A stack whose file names a release that was promoted to the target, in an environment that asks for gates; the
    release's name."""
    name = project(root, release(PROMOTED.model_copy(update={"target": target, "gates": {"from": "passed"}})))
    path = root / "stacks" / "environments" / "prod.yaml"
    asked = {"promotion": {"from": ["dev"]}}
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | asked, sort_keys=False))
    return name


def test_check_and_review_see_a_release_that_somebody_has_written_into_the_stacks_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = edited(tmp_path, "sdxl-lora.staging")
    code, out, _ = run("check", "-s", STACK)
    told = f"The stack {STACK} names release {name}, which was promoted to sdxl-lora.staging and not to {STACK}."
    assert (code, f"note: {told}" in " ".join(out.split())) == (0, True)
    (described,) = json.loads(run("check", "-s", STACK, "--json")[1])["experiments"]
    assert told in " ".join(described["notes"])

    preview = previews.stream(*events()).replace("urn:pulumi:dev::", f"urn:pulumi:{STACK}::")
    (tmp_path / "preview.json").write_text(preview, encoding="utf-8")
    (report,) = read("--preview-json", str(tmp_path / "preview.json")).stacks
    (finding,) = [each for each in report.findings if each.category == "promotion"]
    assert (finding.code, finding.level, finding.object) == ("TR-PROMOTION-1", "high", name)
    words = ("review", "--no-cluster", "--preview-json", str(tmp_path / "preview.json"), "--fail-on", "promotion")
    assert run(*words)[0] == 3

    edited(tmp_path, STACK)
    assert "names release" not in run("check", "-s", STACK)[1]
    assert run(*words)[0] == 0
