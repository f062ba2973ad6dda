"""`trainform demo`, which is what `make demo` runs after the set-up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.live import until
from tests.engine.project import REPOSITORY, Project

TRAINFORM = (sys.executable, "-m", "trainform")


@pytest.fixture
def clone(tmp_path: Path, sandbox_exports: dict[str, str]) -> Iterator[Project]:
    """The repository's stacks in a folder of their own, with a sandbox of their own."""
    project = Project(tmp_path / "clone", sandbox_exports, "ai-namespace")
    shutil.rmtree(project.folder / "stacks")
    shutil.copytree(REPOSITORY / "stacks", project.folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    project.environ["TRAINFORM_SANDBOX"] = str(tmp_path / "sandbox")
    yield project
    project.run(*TRAINFORM, "sandbox", "down", "--purge").succeeded()


def test_the_demo_walks_to_running_pods_and_does_nothing_twice(clone: Project) -> None:
    first = clone.run(*TRAINFORM, "demo").succeeded()
    assert "+ 7 to create" in first
    assert first.count("Running") == 4
    assert {"a800-0", "a800-1", "a800-2", "a800-3", "a800-4", "a800-5", "a800-6", "a800-7"} & set(first.split())
    for word in ("change", "review", "apply", "destroy", "stop"):
        assert f"\n  {word} " in first
    second = clone.run(*TRAINFORM, "demo").succeeded()
    assert "7 unchanged" in second
    assert second.count("Running") == 4
    # a new sandbox after `make stop`: the stacks' files still hold the salts of the first one's state
    clone.run(*TRAINFORM, "sandbox", "down").succeeded()
    third = clone.run(*TRAINFORM, "demo").succeeded()
    assert third.count("Running") == 4


def test_the_demo_can_be_interrupted_in_the_middle_of_up_and_run_again(clone: Project, tmp_path: Path) -> None:
    log = tmp_path / "demo.log"
    with log.open("w") as output:
        demo = subprocess.Popen(
            [*TRAINFORM, "demo"],
            cwd=clone.folder,
            env=clone.environ,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    until(lambda: "sdxl-lora-service creat" in log.read_text().partition("$ pulumi up -s sdxl-lora.dev")[2], "up")
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to all of the foreground
    assert demo.wait(timeout=60) == 130
    said = log.read_text()
    assert "interrupted; to go on, run the same command again" in said
    assert "Traceback" not in said
    assert clone.run(*TRAINFORM, "demo").succeeded().count("Running") == 4


def test_the_demo_outside_a_clone_says_so(tmp_path: Path, sandbox_exports: dict[str, str]) -> None:
    project = Project(tmp_path / "clone", sandbox_exports, "ai-namespace")
    (project.folder / "Pulumi.yaml").unlink()
    output = project.run(sys.executable, "-m", "trainform", "demo").failed()
    assert "there is no Pulumi.yaml here or above" in output
