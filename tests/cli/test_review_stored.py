"""`trainform review --review-json`, and the comment that is made from it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.review.forms.samples import EMPTY, FAILED, ONE_FAILED, RICH
from trainform.review.forms import text
from trainform.review.model import Review
from trainform.review.stored import render
from trainform.review.whole import review_of


def stored(folder: Path, review: Review, name: str = "review.json") -> str:
    file = folder / name
    file.write_text(render(review), encoding="utf-8")
    return str(file)


@pytest.fixture
def report(tmp_path: Path) -> str:
    return stored(tmp_path, review_of([RICH, EMPTY], project="training"))


# --- a report that was written before


def test_a_stored_report_is_shown_in_every_form(report: str, tmp_path: Path) -> None:
    expected = review_of([RICH, EMPTY], project="training")
    code, out, err = run("review", "--review-json", report, "--output", "json")
    assert (code, out, err) == (0, render(expected), "")
    code, out, _ = run("review", "--review-json", report, "--output", "markdown", "-o", str(tmp_path / "again.json"))
    assert (code, out) == (0, text.markdown(expected))
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == render(expected)


def test_a_stored_report_from_standard_input(report: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trainform", "review", "--review-json", "-", "--output", "json"],
        input=Path(report).read_text(), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == Path(report).read_text()


def test_a_stored_report_is_not_written_over(report: str, tmp_path: Path) -> None:
    before = Path(report).read_text()
    code, _, err = run("review", "--review-json", report, "-o", report)
    assert (code, Path(report).read_text()) == (2, before)
    assert "would be overwritten" in err


def test_conditions_hold_for_a_stored_report(report: str, tmp_path: Path) -> None:
    assert run("review", "--review-json", report, "--fail-on", "high")[0] == 3
    assert run("review", "--review-json", report, "--fail-on", "neighbours")[0] == 0
    assert run("review", "--review-json", stored(tmp_path, review_of([FAILED]), "failed.json"))[0] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["dev"], "JOB"),
        (["--all", "-e", "prod"], "--all"),
        (["--preview-json", "preview.json"], "--preview-json"),
        (["--duration", "72h"], "--duration"),
    ],
)
def test_a_stored_report_is_not_made(words: list[str], told: str, report: str) -> None:
    code, _, err = run("review", "--review-json", report, *words)
    assert code == 2
    assert f"--review-json cannot be used with {told}" in err


def changed(report: str, **fields: Any) -> None:
    data = json.loads(Path(report).read_text())
    data.update(fields)
    Path(report).write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"version": 7}, "this report has version 7, and this trainform reads version 2"),
        ({"outcome": "fine"}, "outcome"),
        ({"stacks": [{"stack": "dev"}]}, "stacks[0].outcome"),
        ({"else": 1}, "else"),
        ({"cost": {"before": {"amount": "1e9999", "currency": "USD"}}}, "cost.before.amount"),
        ({"cost": {"percent": "NaN"}}, "cost.percent"),
    ],
)
def test_a_stored_report_that_is_none(fields: dict[str, Any], told: str, report: str) -> None:
    changed(report, **fields)
    code, out, err = run("review", "--review-json", report)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


# --- a comment


def test_a_comment(report: str) -> None:
    words = ["--output", "comment", "--details", "https://ci.example.com/review.html"]
    code, out, err = run("review", "--review-json", report, *words)
    assert (code, err) == (0, "")
    assert out.startswith("<!-- trainform-review training -->\n## Review of 2 stacks: ")
    assert out.endswith("[The whole report](https://ci.example.com/review.html)\n")


def test_what_failed_where_the_report_was_made_does_not_fail_the_comment(tmp_path: Path) -> None:
    """The job that made the report has failed already. A condition asks again."""
    failed = stored(tmp_path, ONE_FAILED)
    code, out, _ = run("review", "--review-json", failed, "--output", "comment")
    assert (code, "The preview failed" in out) == (0, True)
    assert run("review", "--review-json", failed)[0] == 1
    assert run("review", "--review-json", failed, "--output", "comment", "--fail-on", "data")[0] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--details", "https://ci.example.com/", "--output", "markdown"], "add `--output comment`"),
        (["--output", "comment", "--details", "http://ci.example.com/"], "is not an https address"),
        (["--output", "comment", "--details", "https://ci.example.com/) x"], "is not an https address"),
    ],
)
def test_wrong_options_of_a_comment(words: list[str], told: str, report: str) -> None:
    code, out, err = run("review", "--review-json", report, *words)
    assert (code, out) == (2, "")
    assert told in err
