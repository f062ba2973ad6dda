"""Tests copy the repository as it is committed, whatever was changed in the clone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.local.sandbox.test_project_copy import PLAIN, WITH_SECRET
from tests.support.repository import ROOT, copy_stacks, names, tracked
from trainform import defaults

TEXTS = {".py", ".md", ".json", ".yaml", ".toml", ".sh", ".mod"}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the stacks of this one, in which somebody has worked."""
    clone = tmp_path / "clone"
    copy_stacks(clone / "stacks")
    for words in (["init", "--quiet"], ["add", "stacks"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    (clone / "stacks" / "Pulumi.hello.dev.yaml").write_text(WITH_SECRET)
    (clone / "stacks" / "Pulumi.bert.dev.yaml").write_text(PLAIN)
    (clone / "stacks" / "experiments" / "bert.yaml").write_text("name: bert\n")
    return clone


def test_a_stack_file_with_salt_secret_and_settings_is_copied_without_them(clone: Path, tmp_path: Path) -> None:
    stack = clone / "stacks" / "Pulumi.resnet.dev.yaml"
    stack.write_text(stack.read_text() + "  trainform:run: 2\nencryptionsalt: v1:x\n")
    copy_stacks(tmp_path / "copy", repository=clone)
    for name in ("hello", "resnet"):
        assert yaml.safe_load((tmp_path / "copy" / f"Pulumi.{name}.dev.yaml").read_text()) == {
            "config": {"trainform:experiment": name, "trainform:environment": "dev"}
        }


def test_what_somebody_made_in_the_clone_is_not_copied(clone: Path, tmp_path: Path) -> None:
    copy_stacks(tmp_path / "copy", repository=clone)
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert copied == {str(path.relative_to(ROOT / "stacks")) for path in tracked("**/*")}
    assert "experiments/hello.yaml" in copied


def test_the_teaching_examples_are_found() -> None:
    assert {"hello", "resnet", "sdxl-lora"} <= set(names("experiments"))
    assert "dev" in names("environments")


def test_no_file_holds_the_marks_of_a_merge() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    marks = re.compile(rb"^(<{7}|>{7}) ", re.MULTILINE)
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert [path for path in paths if path.is_file() and marks.search(path.read_bytes())] == []


def test_the_page_add_a_backend_has_every_file_that_names_one() -> None:
    """All but tests: those of an operator are in its folder, or name it as an example."""
    page = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a backend")[2].partition("\n## ")[0]
    *_, backend = (name for name in defaults.BACKENDS if name != "kubernetes")  # a word of many files
    listed = [path.replace("NAME", backend) for path in re.findall(r"`([\w./*-]+)`", page)]
    folders = [ROOT / name for name in ("components", "docs", "tools", "bench", "images", "stacks/schemas")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXTS] + [*ROOT.glob("*.md")]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in [*files, ROOT / "Makefile"] if path.is_file()}
    found = [name for name, text in texts.items() if backend in text.lower()]
    assert found
    shared = ("components/trainform/backends/replica_specs/",)
    assert [path for path in found if not path.startswith((*listed, *shared))] == []
    assert [path for path in listed if path.startswith(("components/", "docs/")) and not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", "workflows/*"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_the_files_of_github_have_its_schemas(schema: str, pattern: str) -> None:
    files = [str(path) for path in (ROOT / ".github").glob(pattern)]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (bool(files), ran.returncode) == (True, 0), ran.stdout


def test_the_hosted_workflow_calls_targets_of_make() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yaml").read_text())
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {run.removeprefix("make ") for run in runs} <= {*targets}
