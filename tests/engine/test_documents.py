"""What the documents show is what the engine says, and the first job's commands run. test_pasted_documents pastes all
of them, more slowly."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.support.documents import (
    DOCS,
    FROM_DEV_TO_PROD,
    README,
    TUTORIALS,
    blocks_of,
    blocks_of_a_clone,
    read_blocks,
    write_readme_files,
)
from tests.support.repository import ROOT, commit_all, copy_stacks
from trainform.local.sandbox.control import Sandbox

# What makes a clone, its environment and sandboxes of its own, and what ends them: here there are those of the tests.
OF_A_CLONE = (
    "git clone ",
    "git restore stacks/Pulumi.",
    "cd ",
    "make ",
    ". ",
    "trainform sandbox ",
    "eval ",
    "export KUBECONFIG=",
)
# A row of a preview, drawn as a tree or not: the sign, type, name and step of a resource, and what of it differs.
STEP = re.compile(r"^ ?(\+-|[+~-]) [ │├└─]*(\w+:\S+) +(\S+) +(create|update|replace|delete)\b *(\[diff: [^]]*\])?")
# What stands around these rows in a terminal alone: the head of the table, and resources without a change.
AROUND = re.compile(r"^ {5}(Type +Name|[ │├└─]*\w+:\w+:\w+ +\S+$)")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, sandbox_exports: dict[str, str], live: Live) -> Iterator[Project]:
    """Yield the project as a newcomer has it after `make demo`: the environment's stack is up, `resnet` has a stack."""
    folder = tmp_path_factory.mktemp("readme") / "clone"
    project = Project(folder, sandbox_exports, "ai-namespace")
    copy_stacks(folder / "stacks")
    commit_all(folder)
    project.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{project.environ['PATH']}"
    for stack in ("dev", "resnet.dev"):
        project.pulumi("stack", "init", stack).succeeded()
    project.up("dev")
    yield project
    project.destroy("dev")
    live.delete("namespaces", "ai-namespace")
    until(lambda: live.find("namespaces", "ai-namespace") is None, "the namespace to go")


def ran(clone: Project, commands: Iterable[str]) -> str:
    """Return what commands print in the clone, without those that are another's; fails the test where one fails."""
    own = [command for command in commands if not command.startswith(OF_A_CLONE)]
    return clone.run("bash", "-c", "\n".join(["set -e", *own]), timeout=300).succeeded()


def steps(lines: Iterable[str]) -> set[tuple[str | None, ...]]:
    """Return what a preview does to which resource."""
    return {found.groups() for line in lines if (found := STEP.match(line)) is not None}


def words(lines: Iterable[str]) -> set[str]:
    """Other lines, however they are indented. A revision changes with all that is rendered: any stands for it."""
    texts = (" ".join(line.split()) for line in lines if STEP.match(line) is None and AROUND.match(line) is None)
    return {re.sub(r"\b[0-9a-f]{6}\b", "REVISION", text) for text in texts}


def same_revisions(found: set[tuple[str | None, ...]]) -> set[tuple[str | None, ...]]:
    """Steps with any revision in the names of resources."""
    return {tuple(cell and re.sub(r"-[0-9a-f]{6}$", "-REVISION", cell) for cell in row) for row in found}


@pytest.mark.shows("what the README says that a preview prints")
def test_the_readmes_preview(clone: Project) -> None:
    [block] = blocks_of("console", README)
    name = write_readme_files(clone.folder / "stacks")
    try:
        ran(clone, [f"trainform new {name} -e dev", f"pulumi stack init {name}.dev"])
        printed = ran(clone, block.commands).splitlines()
        assert steps(printed) == steps(block.output) != set()
    finally:
        clone.pulumi("stack", "rm", "--yes", f"{name}.dev")
        (clone.folder / "stacks" / "experiments" / f"{name}.yaml").unlink()
        shutil.copy(ROOT / "stacks" / "environments" / "dev.yaml", clone.folder / "stacks" / "environments")


@pytest.mark.shows("the commands of the README and of the first job")
def test_the_first_job(clone: Project) -> None:
    ran(clone, [command for block in blocks_of_a_clone() for command in block.commands])


@pytest.mark.proof("previews and applies of several changes, as the lessons show them")
@pytest.mark.parametrize("lesson", TUTORIALS[1:-1], ids=lambda path: path.stem)
def test_a_lesson(clone: Project, lesson: Path) -> None:
    follow(clone, lesson)


@pytest.mark.proof("a second control plane, as the lesson on two clusters has it")
def test_the_lesson_on_two_clusters(clone: Project, prod_sandbox: Sandbox, exports_of_both: dict[str, str]) -> None:
    before = dict(clone.environ)
    clone.environ |= exports_of_both | {"PATH": before["PATH"]}  # on which `trainform` is
    (clone.folder / ".trainform").mkdir()
    (clone.folder / ".trainform" / "prod").symlink_to(prod_sandbox.folder)
    try:
        follow(clone, FROM_DEV_TO_PROD)
    finally:
        clone.environ = before


def follow(clone: Project, lesson: Path) -> None:
    """Each block in turn. A session shows every step of a preview, and of other lines some."""
    for block in read_blocks(lesson):
        printed = ran(clone, block.commands).splitlines()
        if block.language == "console":
            assert same_revisions(steps(block.output)) == same_revisions(steps(printed)), block.place
            assert words(block.output) <= words(printed), block.place


def test_every_session_is_run() -> None:
    assert {block.document for block in blocks_of("console")} <= {
        page.relative_to(ROOT).as_posix() for page in (README, *TUTORIALS[1:])
    }


@pytest.mark.proof("a program in the place of the project's")
def test_the_program_of_the_documents_runs(clone: Project) -> None:
    program, sweep, main, *_ = blocks_of("python", DOCS / "how-to" / "write-a-program.md")
    stacks = clone.folder / "stacks"
    try:
        (stacks / "__main__.py").write_text(program.text)
        assert jobs(clone) == {"resnet"}
        (stacks / "sweep.py").write_text(sweep.text)
        (stacks / "__main__.py").write_text(main.text)
        assert jobs(clone) == {"resnet-lr-0-1", "resnet-lr-0-03", "resnet-lr-0-01"}
    finally:
        (stacks / "sweep.py").unlink(missing_ok=True)
        shutil.copy(ROOT / "stacks" / "__main__.py", stacks)


def jobs(clone: Project) -> set[str]:
    """Return the jobs in the preview of a program."""
    return {step.name for step in clone.preview("resnet.dev") if step.type == "trainform:index:TrainingJob"}
