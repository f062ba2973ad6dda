"""`trainform demo`, which is what `make demo` runs after the set-up."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.engine.project import REPOSITORY, Project


def test_the_demo_walks_to_running_pods_and_does_nothing_twice(tmp_path: Path, sandbox_exports: dict[str, str]) -> None:
    project = Project(tmp_path / "clone", sandbox_exports, "ai-namespace")
    shutil.rmtree(project.folder / "stacks")
    shutil.copytree(REPOSITORY / "stacks", project.folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    project.environ["TRAINFORM_SANDBOX"] = str(tmp_path / "sandbox")
    trainform = (sys.executable, "-m", "trainform")
    try:
        first = project.run(*trainform, "demo").succeeded()
        assert "+ 7 to create" in first
        assert first.count("Running") == 4
        assert {"a800-0", "a800-1", "a800-2", "a800-3", "a800-4", "a800-5", "a800-6", "a800-7"} & set(first.split())
        for word in ("change", "review", "apply", "destroy", "stop"):
            assert f"\n  {word} " in first
        second = project.run(*trainform, "demo").succeeded()
        assert "7 unchanged" in second
        assert second.count("Running") == 4
        # a new sandbox after `make stop`: the stacks' files still hold the salts of the first one's state
        project.run(*trainform, "sandbox", "down").succeeded()
        third = project.run(*trainform, "demo").succeeded()
        assert third.count("Running") == 4
    finally:
        project.run(*trainform, "sandbox", "down", "--purge").succeeded()


def test_the_demo_outside_a_clone_says_so(tmp_path: Path, sandbox_exports: dict[str, str]) -> None:
    project = Project(tmp_path / "clone", sandbox_exports, "ai-namespace")
    (project.folder / "Pulumi.yaml").unlink()
    output = project.run(sys.executable, "-m", "trainform", "demo").failed()
    assert "there is no Pulumi.yaml here or above" in output
