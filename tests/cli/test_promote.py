"""`trainform promote` before it reads anything: its words. What it does, `tests/engine/test_promotion.py` shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.support.releases import project
from trainform.cli.arguments import next_steps

WORDS = ("promote", "sdxl-lora", "--from", "dev", "--to", "prod")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    project(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "confirmation is required"),
        (("--yes", "--waive", "soak"), "add --reason"),
        (("--yes", "--reason", "the demo is today"), "add --waive"),
        (("--dry-run", "--waive", "sook", "--reason", "x"), "did you mean soak?"),
        (("--dry-run", "--waive", "soak", "--reason", "x"), "the environment prod does not set this gate"),
    ],
)
def test_words_that_do_not_go_together(words: tuple[str, ...], told: str, root: Path) -> None:
    code, out, err = run(*WORDS, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert not (root / "stacks" / "releases").exists()


def test_a_stack_that_the_project_does_not_have() -> None:
    code, _, err = run("promote", "bert", "--from", "dev", "--to", "prod", "--yes")
    assert code == 2
    assert err.count("no stack of the project runs bert there") == 2


def test_several_experiments_are_named_once_each(root: Path) -> None:
    code, _, err = run("promote", "sdxl-lora", "sdxl-lora", *WORDS[2:], "--yes")
    assert code == 2
    assert "an experiment is named more than once" in err
    code, _, err = run("promote", "sdxl-lora", "bert", *WORDS[2:], "--yes")
    assert code == 2
    assert "EXPERIMENT = bert" in err or "no stack of the project runs bert there" in err
    assert not (root / "stacks" / "releases").exists()


def test_the_source_may_be_a_stack_or_the_only_other_one(root: Path) -> None:
    """The words are the same promotion, which then has the same problem: no cluster answers."""
    expected = run(*WORDS, "--dry-run")
    assert expected[0] == 1
    for words in (
        ("sdxl-lora.dev",),
        ("sdxl-lora", "-e", "dev"),
        ("sdxl-lora", "--from", "sdxl-lora.dev"),
        ("sdxl-lora",),
    ):
        assert run("promote", *words, "--to", "prod", "--dry-run") == expected
    third = root / "stacks/Pulumi.again.yaml"
    third.write_text((root / "stacks/Pulumi.sdxl-lora.dev.yaml").read_text())
    err = run("promote", "sdxl-lora", "--to", "prod", "--yes")[2]
    assert "fix: add --from again or --from sdxl-lora.dev\n" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sdxl-lora.dev", "--from", "dev"), "--from cannot be used with the stack sdxl-lora.dev"),
        (("sdxl-lroa",), "did you mean sdxl-lora?"),
        (("sdxl-lora.dve",), "did you mean sdxl-lora.dev?"),
        (("sdxl-lroa", "--from", "dev"), "did you mean sdxl-lora?"),
        (("sdxl-lora", "--from", "dve"), "did you mean dev?"),
    ],
)
def test_wrong_sources(words: tuple[str, ...], said: str) -> None:
    code, out, err = run("promote", *words, "--to", "prod", "--yes")
    assert (code, out) == (2, "")
    assert said in err


def test_what_is_typed_next_makes_a_stack_that_is_not_there() -> None:
    ends = ["  trainform review sdxl-lora.prod --save sdxl-lora.prod.json", "  trainform apply sdxl-lora.prod.json"]
    assert next_steps("sdxl-lora.prod", ["a b"])[2:] == ["  git add 'a b'", *ends]
    first = next_steps("sdxl-lora.prod", ["a b"], is_deployed=False)
    assert first[2:] == ["  pulumi stack select --create sdxl-lora.prod", "  git add 'a b'", *ends]
    refreshed = next_steps("sdxl-lora.prod", ["a b"], must_refresh=True)
    assert refreshed[2:] == [
        "  pulumi refresh --yes --clear-pending-creates -s sdxl-lora.prod",
        "  git add 'a b'",
        *ends,
    ]
