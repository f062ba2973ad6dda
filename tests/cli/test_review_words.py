"""`trainform review`: words and files that are wrong, and what is said of them."""

from __future__ import annotations

import pytest

from tests.cli.reviewing import review


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fail-on", "hihg"], "did you mean high?"),
        (["--fail-on", "data high"], "with commas between them"),
        (["--fail-on", "data;high"], "with commas between them"),
        (["--fail-on", ""], "a condition is empty"),
        (["-o", "-"], "--output chooses the form"),
        (["-o", "report.pdf"], "give it one of .txt, .json, .md, .html"),
        (["-o", "nowhere/a.md"], "its folder does not exist"),
        (["--output", "pdf"], "is not one of 'text', 'json', 'markdown', 'html', 'comment'"),
        (["hello.dev"], "the preview is one of the stack dev, not of hello.dev"),
        (["dev", "hello.dev"], "there are 1 previews and 2 stacks"),
        (["--all", "-e", "dev"], "--all cannot be used with --preview-json"),
        (["-e", "dev"], "-e names the environment of --all"),
    ],
)
def test_wrong_words(words: list[str], said: str, preview: str) -> None:
    code, out, err = review("--preview-json", preview, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_two_previews_of_a_stack(preview: str) -> None:
    code, out, err = review("--preview-json", preview, "--preview-json", preview)
    assert (code, out) == (2, "")
    assert "named more than once: dev" in err
    assert "only one preview" in review("--preview-json", "-", "--preview-json", "-")[2]
