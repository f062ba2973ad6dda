"""The config of a stack as `check STACK` reads it. `tests/engine/test_stack_configs.py` asks Pulumi for the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stack_configs import CASES, Case
from trainform.errors import InputError
from trainform.spec.stack import load_stack, require_stack, run_number, suspend_switch


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_read_as_pulumi_reads_it_or_refused(case: Case, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text(case.project_file())
    (tmp_path / "stacks" / "Pulumi.s.yaml").write_text(case.stack_config())
    if case.reason is None:
        found, expected = load_stack("s", tmp_path), case.expected
        assert found.experiment == expected["experiment"]
        assert found.environment == expected["environment"]
        assert found.run == run_number(expected["run"])
        assert found.suspend == suspend_switch(expected["suspend"])
        return
    with pytest.raises(InputError) as raised:
        load_stack("s", tmp_path)
    (problem,) = raised.value.problems
    assert case.reason in problem.reason
    assert problem.fix


@pytest.fixture
def vision(tmp_path: Path) -> Path:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: vision\nruntime: python\n")
    (tmp_path / "stacks" / "Pulumi.bert.dev.yaml").write_text("config: {}\n")
    for folder, name in (("experiments", "bert"), ("environments", "prod")):
        (tmp_path / "stacks" / folder).mkdir()
        (tmp_path / "stacks" / folder / f"{name}.yaml").touch()
    return tmp_path


@pytest.mark.parametrize("name", ["bert.dev", "research/bert.dev", "research/vision/bert.dev"])
def test_the_names_of_a_stack(vision: Path, name: str) -> None:
    assert require_stack(name, vision) == "bert.dev"


@pytest.mark.parametrize(
    ("name", "reason", "fix"),
    [
        ("bert.dve", "the stack has no file stacks/Pulumi.bert.dve.yaml", "did you mean bert.dev?"),
        ("bert.prod", "the stack has no file stacks/Pulumi.bert.prod.yaml", "`trainform new bert -e prod` writes it"),
        ("research/speech/bert.dev", "this stack is of the project speech, and this project is vision", "cd into"),
        ("../bert.dev", "this is not the name of a stack", "did you mean bert.dev?"),
        ("./bert.dev", "this is not the name of a stack", "did you mean bert.dev?"),
        ("../stacks/", "this is not the name of a stack", "write STACK, or ORGANIZATION/PROJECT/STACK"),
        ("/bert.dev", "this is not the name of a stack", "did you mean bert.dev?"),
        ("a/b/c/bert.dev", "this is not the name of a stack", "did you mean bert.dev?"),
    ],
)
def test_what_is_no_stack_of_the_project(vision: Path, name: str, reason: str, fix: str) -> None:
    with pytest.raises(InputError) as raised:
        require_stack(name, vision, "STACK")
    (problem,) = raised.value.problems
    assert (problem.path, problem.value, problem.reason) == ("STACK", name, reason)
    assert problem.fix.startswith(fix)


def test_every_problem_at_once(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    text = "config:\n  trainform:experiment: [a]\n  trainform:environment: ''\n  trainform:run: {secure: hunter2}\n"
    (tmp_path / "stacks" / "Pulumi.s.yaml").write_text(text)
    with pytest.raises(InputError) as raised:
        load_stack("s", tmp_path)
    assert [(problem.line, problem.source) for problem in raised.value.problems] == [
        (line, "stacks/Pulumi.s.yaml") for line in (2, 3, 4)
    ]
    assert raised.value.problems[1].fix == "pulumi config set -s s trainform:environment NAME"
    assert "hunter2" not in str(raised.value.lines())
