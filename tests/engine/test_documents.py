"""Every block of the documents runs, and the answer that it shows is what the engine says."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.documents import Block, all_blocks, blocks
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.rehearsal.conftest import docker_daemon, image
from tests.repository import ROOT, copy_stacks, read, stack_config, tracked
from trainform.cli.new import STACK
from trainform.examine import examine
from trainform.spec import Experiment
from trainform.spec.load import parse

pytestmark = pytest.mark.proof("command blocks of every page")

__all__ = ["docker_daemon", "image"]
README = {(block.language, block.number): block for block in blocks(ROOT / "README.md")}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, sandbox_exports: dict[str, str], live: Live) -> Iterator[Project]:
    """The project as a newcomer has it after `make demo`: the environment's stack is up, `resnet` has a stack."""
    folder = tmp_path_factory.mktemp("readme") / "clone"
    project = Project(folder, sandbox_exports, "ai-namespace")
    copy_stacks(folder / "stacks")
    # a rehearsal starts a process for each accelerator, which imports torch for seconds
    resnet = folder / "stacks" / "experiments" / "resnet.yaml"
    resnet.write_text(resnet.read_text().replace("{a800: 8}", "{a800: 2}"))
    shutil.copy(ROOT / "Makefile", folder)
    project.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{project.environ['PATH']}"
    project.environ["TRAINFORM_SANDBOX"] = str(tmp_path_factory.mktemp("documents") / "sandbox")
    for stack in ("dev", "resnet.dev"):
        project.pulumi("stack", "init", stack).succeeded()
    project.up("dev")
    yield project
    project.destroy("dev")
    until(lambda: live.find("namespaces", "ai-namespace") is None, "the namespace to go")


def places(found: Iterable[Block]) -> list[Any]:
    """The README's blocks in `make test`, those of the other pages in `make proof`."""
    shown = [pytest.mark.shows("the README's commands")]
    return [
        pytest.param(block, id=f"{block.document}-{block.number}", marks=shown if block.document == "README.md" else [])
        for block in found
    ]


@pytest.mark.parametrize("block", places(all_blocks("console")))
def test_commands(clone: Project, block: Block, request: pytest.FixtureRequest) -> None:
    if any(command.startswith("trainform rehearse ") for command in block.commands):
        request.getfixturevalue("image")
    # `make demo` is run by test_demo, and `make test` is what runs this: here it is asked whether the target is there
    script = ["set -e", *(re.sub(r"^make ", "make --dry-run ", command) for command in block.commands)]
    printed = clone.run("bash", "-c", "\n".join(script), timeout=300).succeeded()
    if block.output:
        assert table(in_clone(clone, block.output)) == table(printed.splitlines())


def in_clone(clone: Project, lines: Iterable[str]) -> list[str]:
    """The lines as the clone prints them, whose `resnet` is smaller and so of another revision."""
    shown, printed = (plan.revision for plan in (examine("resnet", "dev").plan(), clone.plan("resnet")))
    return [line.replace(shown, printed) for line in lines]


def table(lines: Iterable[str]) -> set[tuple[str, ...]]:
    """Type, name and step of what a preview creates, drawn as a tree or not."""
    return {tuple(line.lstrip(" +│├└─").split()) for line in lines if line.startswith(" +")}


def test_the_readme_shows_an_experiment_that_is_there() -> None:
    text = README["yaml", 0].text
    path, _, shown = text.partition("\n")
    kept = [line for line in (ROOT / path.removeprefix("# ")).read_text().splitlines() if not line.startswith("#")]
    assert shown.splitlines() == kept


def test_the_readme_program_runs(clone: Project) -> None:
    (clone.folder / "stacks" / "__main__.py").write_text(README["python", 5].text)
    try:
        assert ("trainform:index:TrainingJob", "resnet") in {
            (step.type, step.name) for step in clone.preview("resnet.dev")
        }
    finally:
        shutil.copy(ROOT / "stacks" / "__main__.py", clone.folder / "stacks")


def test_fragments_of_experiments_are_right() -> None:
    whole = read("experiments", "hello")
    for block in all_blocks("yaml"):
        parsed = parse(Experiment, whole | yaml.safe_load(block.text))
        assert parsed.model is not None, block
        assert not parsed.problems, block


def test_committed_stacks_are_those_of_new() -> None:
    for path in tracked("Pulumi.*.*.yaml"):
        _, experiment, environment, _ = path.name.split(".")
        expected = yaml.safe_load(STACK.format(name=experiment, environment=environment))
        assert stack_config(path) == expected["config"]
