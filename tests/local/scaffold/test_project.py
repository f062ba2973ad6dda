"""What `trainform init` writes, against this repository's own project."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.support.repository import ROOT
from trainform.local.scaffold.project import (
    CHECKOUT,
    CONFIG_KEYS,
    HELLO,
    SETUP_PYTHON,
    project_files,
    project_name,
    requirement,
)


def test_this_repository_has_the_same_files() -> None:
    files = project_files("trainform", ".venv", "trainform==1.2.3", "4.25.0")
    assert (ROOT / "Pulumi.yaml").read_text() == files["Pulumi.yaml"]
    for path in (
        "policy/PulumiPolicy.yaml",
        "policy/__main__.py",
        "stacks/__main__.py",
        "stacks/Pulumi.dev.yaml",
        "stacks/Pulumi.hello.dev.yaml",
    ):
        assert (ROOT / path).read_text() == files[path]
    schemas = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "stacks/schemas").iterdir()}
    assert {path: text for path, text in files.items() if path.startswith("stacks/schemas/")} == schemas
    hello = (ROOT / "stacks/experiments/hello.yaml").read_text()
    assert hello == HELLO.format(registry="registry.example.com/library/")


@pytest.mark.parametrize("action", [CHECKOUT, SETUP_PYTHON])
def test_workflows_have_the_same_actions_everywhere(action: str) -> None:
    """New projects and the documents have the same commits."""
    name, _, pin = action.partition("@")
    assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", pin)
    new = project_files("vision", None, "trainform==1.2.3", "4.25.0")[".github/workflows/trainform.yaml"]
    texts = [new, *(path.read_text() for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".yaml"))]
    used = [line.partition("uses: ")[2] for text in texts for line in text.splitlines() if f"uses: {name}@" in line]
    assert len(used) > 2
    assert {*used} == {action}


def test_a_project_declares_nothing_in_a_namespace_that_is_not_its_own() -> None:
    """Pulumi: "Configuration key 'trainform:run' is not namespaced by the project and should not define a type"."""
    text = project_files("vision", None, "trainform==1.2.3", "4.25.0")["Pulumi.yaml"]
    content = yaml.safe_load(text)
    assert content["name"] == "vision"
    assert "config" not in content
    assert content["runtime"]["options"] == {"toolchain": "pip"}
    for key, description in CONFIG_KEYS.items():
        assert f"#   trainform:{key}: {description}\n" in text


COMMIT = "5e5b9d0f7c1f0b7a2b1c3d4e5f60718293a4b5c6"
GIT = {"vcs_info": {"vcs": "git", "commit_id": COMMIT}}
PIN = "trainform==1.2.3"


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, PIN),
        (
            {"url": "https://git.example.com/ai/tf.git", **GIT},
            f"trainform @ git+https://git.example.com/ai/tf.git@{COMMIT}",
        ),
        ({"url": "ssh://git@git.example.com/tf", **GIT}, f"trainform @ git+ssh://git@git.example.com/tf@{COMMIT}"),
        ({"url": "file:///home/ai/tf", **GIT}, PIN),
        ({"url": "file:///home/ai/tf", "dir_info": {"editable": True}}, PIN),
        ({"url": "https://me:secret@git.example.com/tf", **GIT}, PIN),
    ],
)
def test_the_running_version_is_pinned_with_the_policy_sdk_in_a_comment(
    origin: dict[str, Any] | None, expected: str
) -> None:
    """`tests/wheel` installs the line of the comment."""
    found = requirement("1.2.3", None if origin is None else json.dumps(origin))
    assert found == expected
    text = project_files("vision", None, found, "4.25.0")["requirements.txt"]
    assert text.startswith(f"{expected}\n")
    assert f"\n# {expected.replace('trainform', 'trainform[policy]', 1)}\n" in text


def test_the_workflow_checks_all_stacks() -> None:
    files = project_files("vision", None, PIN, "4.25.0")
    workflow = yaml.load(files[".github/workflows/trainform.yaml"], yaml.BaseLoader)  # noqa: S506 - all is text to it
    assert workflow.keys() == {"name", "on", "permissions", "jobs"}
    commands = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert commands == ["python -m pip install -r requirements.txt", "trainform check --all"]


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("vision", "vision"),
        ("My Project", "My-Project"),
        ("köln: eins", "k-ln-eins"),
        (".hidden", "hidden"),
        ("训练", "trainform"),
        ("", "trainform"),
        ("pulumi", "trainform"),
        ("Pulumi.x", "trainform"),
        ("n" * 200, "n" * 100),
    ],
)
def test_the_name_of_a_folder(folder: str, name: str) -> None:
    assert project_name(folder) == name
