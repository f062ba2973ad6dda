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
from trainform.sandbox.exports import WITHOUT_SIDECARS
from trainform.sandbox.folder import Layout
from trainform.toolchain.ensure import environment
from trainform.toolchain.model import Toolchain

TRAINFORM = (sys.executable, "-m", "trainform")


@pytest.fixture
def clone(tmp_path: Path, toolchain: Toolchain) -> Iterator[Project]:
    """The repository's stacks in a folder of their own, with a sandbox of their own."""
    project = Project(tmp_path / "clone", environment(toolchain.pulumi), "ai-namespace")
    shutil.rmtree(project.folder / "stacks")
    shutil.copytree(REPOSITORY / "stacks", project.folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    project.environ["TRAINFORM_SANDBOX"] = str(tmp_path / "sandbox")
    yield project
    project.run(*TRAINFORM, "sandbox", "down", "--purge").succeeded()


def stop_an_earlier_one(clone: Project) -> None:
    """As `make stop` leaves a project: the state of its stacks is gone, in their files are its salts."""
    layout = Layout(Path(clone.environ["TRAINFORM_SANDBOX"]))
    layout.make()
    url, passphrase = f"file://{layout.pulumi_state}?{WITHOUT_SIDECARS}", layout.passphrase.read_text()
    for stack in ("dev", "sdxl-lora.dev"):
        init = clone.pulumi("stack", "init", stack, PULUMI_BACKEND_URL=url, PULUMI_CONFIG_PASSPHRASE=passphrase)
        init.succeeded()
        assert "encryptionsalt" in (clone.folder / "stacks" / f"Pulumi.{stack}.yaml").read_text()
    clone.run(*TRAINFORM, "sandbox", "down").succeeded()
    assert not layout.pulumi_state.exists()


def interrupted_demo(clone: Project, log: Path) -> str:
    """What it says that is interrupted in the middle of the experiment's `up`."""
    with log.open("w") as output:
        demo = subprocess.Popen(
            [*TRAINFORM, "demo"],
            cwd=clone.folder,
            env=clone.environ,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    until(lambda: "sdxl-lora-service creat" in log.read_text().partition("$ pulumi up -s sdxl-lora.dev")[2], "up", 400)
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to all of the foreground
    assert demo.wait(timeout=180) == 130
    return log.read_text()


def test_the_demo_begins_anew_after_stop_goes_on_when_interrupted_and_does_nothing_twice(
    clone: Project, tmp_path: Path
) -> None:
    stop_an_earlier_one(clone)
    said = interrupted_demo(clone, tmp_path / "demo.log")
    assert "+ 7 to create" in said
    assert "interrupted; to go on, run the same command again" in said
    assert "Traceback" not in said
    resumed = clone.run(*TRAINFORM, "demo").succeeded()
    assert resumed.count("Running") == 4
    assert {"a800-0", "a800-1", "a800-2", "a800-3", "a800-4", "a800-5", "a800-6", "a800-7"} & set(resumed.split())
    for word in ("change", "review", "apply", "destroy", "stop"):
        assert f"\n  {word} " in resumed
    again = clone.run(*TRAINFORM, "demo").succeeded()
    assert "7 unchanged" in again
    assert again.count("Running") == 4


def test_the_demo_outside_a_clone_says_so(tmp_path: Path, toolchain: Toolchain) -> None:
    project = Project(tmp_path / "clone", environment(toolchain.pulumi), "ai-namespace")
    (project.folder / "Pulumi.yaml").unlink()
    output = project.run(*TRAINFORM, "demo").failed()
    assert "there is no Pulumi.yaml here or above" in output
