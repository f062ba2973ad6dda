"""`trainform review` of several stacks: a program in the place of the engine prints a recorded preview of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.reviewing import engine, events, review
from tests.support import previews
from trainform.project import known_stacks
from trainform.review.model import Review

REFUSAL = "error: getting stack configuration: incorrect passphrase"
ENGINE = """\
#!/bin/sh
while [ "$1" != -s ]; do shift; done
if [ "$2" = mnist.dev ]; then echo "warning: old"; echo "{refusal}"; exit 255; fi >&2
sed "s/urn:pulumi:dev::/urn:pulumi:$2::/g" {preview}
"""


@pytest.fixture(autouse=True)
def _engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called pulumi. It cannot say anything of the stack mnist.dev."""
    preview = tmp_path / "preview.json"
    preview.write_text(previews.stream(*events()), encoding="utf-8")
    engine(tmp_path, monkeypatch, ENGINE.format(preview=preview, refusal=REFUSAL))


def stacks_of(*words: str, code: int = 0) -> list[str]:
    ended, out, err = review("--output", "json", "--quiet", *words)
    assert (ended, err) == (code, "")
    return [report.stack for report in Review.model_validate_json(out).stacks]


def test_stacks_stay_in_the_order_in_which_they_are_named() -> None:
    for named in (["resnet.dev", "dev", "hello.dev"], ["hello.dev", "resnet.dev"]):
        assert stacks_of(*named) == named


def test_all_stacks_of_an_environment_its_own_first() -> None:
    others = [stack for stack in known_stacks() if stack.endswith(".dev")]
    assert stacks_of("--all", "-e", "dev", code=1) == ["dev", *others]
    assert stacks_of("--all", "-e", "stacks/environments/dev.yaml", code=1) == ["dev", *others]


def test_a_preview_that_fails_hides_no_other() -> None:
    code, out, _ = review("hello.dev", "mnist.dev", "--output", "json")
    found = Review.model_validate_json(out)
    assert (code, found.outcome, found.cost.known) == (1, "failed", False)
    good, failed = found.stacks
    assert (good.outcome, failed.outcome) == ("findings", "failed")
    assert "TR-RESTART-1" in {finding.code for finding in good.findings}
    assert failed.headline == "The preview failed: getting stack configuration: incorrect passphrase"
    assert (failed.failure, failed.messages) == (["warning: old"], [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hello.dev", "resnet.dve", "nothing"], ["did you mean resnet.dev?", "JOB = nothing"]),
        (["hello.dev", "org/trainform/hello.dev"], ["named more than once: hello.dev"]),
        (["--all"], ["Missing option '--environment' / '-e'"]),
        (["--all", "-e", "dve"], ["did you mean dev?"]),
        (
            ["--all", "-e", "tests/environments/prod.yaml"],
            ["no stack is in the environment tests/environments/prod.yaml"],
        ),
        (["--all", "-e", "dev", "hello.dev"], ["--all cannot be used with JOB"]),
        (["hello.dev", "-e", "dev"], ["-e cannot be used with the stack hello.dev"]),
        (["--changed-since", "main", "hello.dev"], ["--changed-since cannot be used with JOB", "leave out"]),
        (["--changed-since", "main", "--all", "-e", "dev"], ["--changed-since cannot be used with --all"]),
        (["--changed-since", "main", "-e", "dev"], ["-e names the environment of --all"]),
        (["--changed-since", "main", "--preview-json", "-"], ["--changed-since cannot be used with --preview-json"]),
        (["--changed-since", "-x"], ["--changed-since = -x", "is no name of a commit"]),
    ],
)
def test_wrong_words(words: list[str], said: list[str]) -> None:
    code, out, err = review(*words)
    assert (code, out) == (2, "")
    assert [text for text in said if text not in err] == [], err
