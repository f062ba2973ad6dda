"""Rules for the code blocks of the documents that need no engine. tests/engine runs their commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tests.support.documents import (
    DOCS,
    DOCUMENTS,
    EMPTY_FOLDER,
    FIRST_JOB,
    LANGUAGES,
    PAGES,
    PROMPT,
    README,
    block_of_a_new_shell,
    blocks_of,
    read_blocks,
    write_readme_files,
)
from tests.support.repository import ROOT, copy_stacks, read, stack_config, tracked
from tools.docs.generated import GENERATED
from trainform.cli.main import build_app, main
from trainform.job.check import check_experiment
from trainform.local.scaffold.new_experiment import stack_text
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.read import read_mapping

# It asks the terminal for its colours and, while it shows progress, for keys: it takes pasted lines, which then never
# reach the shell.
READS_THE_TERMINAL = re.compile(r"\bpulumi\b|\btrainform (review|apply|destroy)\b")
ASKS = re.compile(r"\bpulumi (up|refresh|destroy)\b|\btrainform (promote|rollback|destroy)\b")
TAKES_DOWN = re.compile(r"pulumi destroy\b|trainform destroy\b|trainform sandbox down\b")
IN_A_NEW_SHELL = "first-job.md#a-new-shell)"
# A session of a page is run beside its other blocks, so it only looks.
LOOKS = re.compile(
    r"pulumi preview |trainform (check|plan|render|diff|drift|history|promote .* --dry-run) |git diff |diff "
)
MOST_CHARACTERS = 119
WIDE = (ROOT / "CHANGELOG.md", *DOCUMENTS)

BLOCKS = [block for document in DOCUMENTS for block in read_blocks(document)]
PASTED = blocks_of("sh")


def test_a_block_says_what_it_is() -> None:
    assert [block.place for block in BLOCKS if block.language not in LANGUAGES] == []


def test_only_sessions_have_prompts_and_they_have_answers() -> None:
    for block in BLOCKS:
        has_prompts = any(line.startswith(PROMPT) for line in block.text.splitlines())
        assert has_prompts == (block.language == "console"), block.place
        assert bool(block.output) == has_prompts, f"{block.place}: commands alone are a block of sh"


def test_every_fence_is_read() -> None:
    for document in DOCUMENTS:
        assert document.read_text().count("```") == 2 * len(read_blocks(document)), document


def test_a_pasted_block_has_a_whole_command_on_each_line() -> None:
    for block in PASTED:
        assert block.commands, block.place
        for command in block.commands:
            assert command == command.strip(), block.place
            assert command.isprintable(), f"{block.place}: a tab would complete a name"
            assert not command.endswith("\\"), block.place
            assert "!" not in command, f"{block.place}: an interactive shell takes it for one of its history"
            assert shlex.split(command), block.place


def test_nothing_stands_behind_a_command_that_reads_the_terminal() -> None:
    found = [block.place for block in PASTED for command in block.commands[:-1] if READS_THE_TERMINAL.search(command)]
    assert found == []


def test_a_page_with_a_pipeline_is_pasted_into_bash() -> None:
    """Which sees a failure of its first command."""
    pages = [ROOT / page for page, kind in PAGES.items() if kind == "sh"]
    assert not [block.place for block in blocks_of("sh", *pages) if re.search(r"[^|]\|[^|]", block.text)]


def test_a_pasted_command_asks_nothing() -> None:
    asking = [(block.place, command) for block in PASTED for command in filter(ASKS.search, block.commands)]
    assert [found for found in asking if "--yes" not in found[1]] == []


def test_what_takes_down_is_pasted_alone() -> None:
    several = [block for block in PASTED if len(block.commands) > 1]
    assert [block.place for block in several if any(map(TAKES_DOWN.match, block.commands))] == []


def test_commands_of_trainform_and_make_are_there() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in [command for block in PASTED for command in block.commands]:
        for found in re.finditer(r"\b(trainform|make) ([^|;)]*)", line):
            words = shlex.split(found[2])
            if found[1] == "make":
                assert set(words) <= set(targets), line
            elif found.start() == 0 or line[found.start() - 1] in " (":
                parsed(words)


def parsed(words: list[str]) -> None:
    """Fail if the command line has no such command, option or argument; nothing is run."""
    command: Any = typer.main.get_command(build_app(words))
    context = command.make_context("trainform", words)
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, words, parent=context)


def test_a_session_only_looks() -> None:
    sessions = [block for block in BLOCKS if block.language == "console"]
    assert [command for block in sessions for command in block.commands if not LOOKS.match(command)] == []


BEGINNINGS = (README, FIRST_JOB, EMPTY_FOLDER)  # they make the shell that the other pages begin in


def test_a_page_says_in_which_shell_its_commands_are_typed() -> None:
    for document in set(DOCUMENTS) - set(BEGINNINGS):
        commands = [command for block in blocks_of("sh", document) for command in block.commands]
        before, _, _ = document.read_text().partition("```sh\n")
        if any(not command.startswith("make ") for command in commands):
            assert IN_A_NEW_SHELL in before, document
        elif commands:
            assert "in the clone" in before, document


def test_the_first_job_has_the_block_that_the_pages_name() -> None:
    assert any("sandbox env" in command for command in block_of_a_new_shell().commands)


def test_lines_are_short() -> None:
    """A diff, a terminal and a review show them whole. Rows of tables that are written from the code may be longer:
    Markdown cannot wrap them."""
    lines = [(path, *line) for path in WIDE for line in enumerate(path.read_text().splitlines(), 1)]
    written = {DOCS / "reference" / "benchmarks.md", *(DOCS / name for name in GENERATED)}
    wide = [(path, number, line) for path, number, line in lines if len(line) > MOST_CHARACTERS]
    assert [f"{path}:{number}" for path, number, line in wide if path not in written or not line.startswith("| ")] == []


def test_every_page_is_in_the_navigation() -> None:
    """The list of pages in docs/README.md, from which the site's navigation is made."""
    listed = re.findall(r"^- \[[^]]*\]\(([^)#]*)\)", (DOCS / "README.md").read_text(), re.MULTILINE)
    pages = {page for page in DOCS.rglob("*.md") if page != DOCS / "README.md"}
    others = {ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")}
    assert {(DOCS / page).resolve() for page in listed} == pages | others


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_the_readmes_experiment_is_right(environment: str, tmp_path: Path) -> None:
    copy_stacks(tmp_path / "stacks")
    name = write_readme_files(tmp_path / "stacks")
    assert check_experiment(name, environment, root=tmp_path).problems == ()


def test_fragments_of_experiments_are_right(tmp_path: Path) -> None:
    whole = read("experiments", "hello")
    path = tmp_path / "fragment.yaml"
    for block in blocks_of("yaml"):
        path.write_text(block.text)
        result = parse(Experiment, whole | read_mapping(path, path.name)[0])
        assert result.model is not None, block
        assert not result.problems, block


def test_a_message_is_shown_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = blocks_of("text", DOCS / "reference" / "command-line.md")
    copy_stacks(tmp_path / "stacks")
    (tmp_path / "Pulumi.yaml").touch()
    experiment = tmp_path / "stacks" / "experiments" / "resnet.yaml"
    lines = experiment.read_text().splitlines()
    experiment.write_text("\n".join([*lines[:7], "env:", "  START: 22:30", *lines[7:]]))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["check", "resnet", "-e", "dev"])
    assert ended.value.code == 2
    assert block.text.strip() in capsys.readouterr().err


def test_committed_stacks_are_those_of_new() -> None:
    for path in tracked("Pulumi.*.*.yaml"):
        _, experiment, environment, _ = path.name.split(".")
        expected = yaml.safe_load(stack_text(environment, experiment))
        assert stack_config(path) == expected["config"]
