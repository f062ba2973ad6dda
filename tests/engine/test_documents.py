"""What the documents show is what the engine says, and the README's commands run. test_pasted_documents pastes all of them, more slowly."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.documents import README, Block, blocks_of, blocks_of_a_clone
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.repository import ROOT, copy_stacks

# What makes a clone, its environment and a sandbox of its own: here there is one of the tests.
OF_A_CLONE = ("git ", "cd ", "make ", ". ", "trainform sandbox ", "eval ")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, sandbox_exports: dict[str, str], live: Live) -> Iterator[Project]:
    """The project as a newcomer has it after `make demo`: the environment's stack is up, `resnet` has a stack."""
    folder = tmp_path_factory.mktemp("readme") / "clone"
    project = Project(folder, sandbox_exports, "ai-namespace")
    copy_stacks(folder / "stacks")
    project.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{project.environ['PATH']}"
    for stack in ("dev", "resnet.dev"):
        project.pulumi("stack", "init", stack).succeeded()
    project.up("dev")
    yield project
    project.destroy("dev")
    until(lambda: live.find("namespaces", "ai-namespace") is None, "the namespace to go")


@pytest.mark.shows("what the documents say that a command prints")
@pytest.mark.parametrize("block", blocks_of("console"), ids=lambda block: block.place)
def test_shown_output(clone: Project, block: Block) -> None:
    printed = clone.run("bash", "-c", "\n".join(["set -e", *block.commands]), timeout=300).succeeded()
    assert table(block.output) == table(printed.splitlines())


def table(lines: Iterable[str]) -> set[tuple[str, ...]]:
    """Type, name and step of what a preview creates, drawn as a tree or not."""
    return {tuple(line.lstrip(" +│├└─").split()) for line in lines if line.startswith(" +")}


@pytest.mark.shows("the README's commands")
def test_the_readmes_commands(clone: Project) -> None:
    commands = [command for block in blocks_of_a_clone() for command in block.commands]
    rest = [command for command in commands if not command.startswith(OF_A_CLONE)]
    clone.run("bash", "-c", "\n".join(["set -e", *rest]), timeout=300).succeeded()


@pytest.mark.proof("a program in the place of the project's")
def test_the_readme_program_runs(clone: Project) -> None:
    [program] = blocks_of("python", README)
    (clone.folder / "stacks" / "__main__.py").write_text(program.text)
    try:
        assert ("trainform:index:TrainingJob", "resnet") in {
            (step.type, step.name) for step in clone.preview("resnet.dev")
        }
    finally:
        shutil.copy(ROOT / "stacks" / "__main__.py", clone.folder / "stacks")
