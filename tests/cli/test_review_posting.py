"""`trainform review --post` and `--review-json`: the words, the variables, what is read and what is posted."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.review.forms.samples import EMPTY, FAILED, ONE_FAILED, RICH, USUAL
from tests.support.github_api import ACTIONS, TOKEN, GithubApi, Right
from tests.support.repository import ROOT
from trainform.review.forms import as_json, markdown
from trainform.review.model import Review
from trainform.review.whole import review_of


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GithubApi]:
    """The server, with the variables of a run for its pull request."""
    with GithubApi() as server:
        for name, value in server.variables(tmp_path).items():
            monkeypatch.setenv(name, value)
        yield server


def stored(folder: Path, review: Review, name: str = "review.json") -> str:
    file = folder / name
    file.write_text(as_json.render(review), encoding="utf-8")
    return str(file)


@pytest.fixture
def report(tmp_path: Path) -> str:
    return stored(tmp_path, review_of([RICH, EMPTY], project="training"))


# --- a report that was written before


def test_a_stored_report_is_shown_in_every_form(report: str, tmp_path: Path) -> None:
    expected = review_of([RICH, EMPTY], project="training")
    code, out, err = run("review", "--review-json", report, "--format", "json")
    assert (code, out, err) == (0, as_json.render(expected), "")
    code, out, _ = run("review", "--review-json", report, "--format", "markdown", "-o", str(tmp_path / "again.json"))
    assert (code, out) == (0, markdown.render(expected))
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == as_json.render(expected)


def test_a_stored_report_from_standard_input(report: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trainform", "review", "--review-json", "-", "--format", "json"],
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
        (["dev"], "STACK"),
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
        ({"version": 7}, "this report has version 7, and this trainform reads version 1"),
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


@pytest.mark.parametrize(
    ("part", "place", "field", "value", "told"),
    [
        ("edges", 0, "end", "role/none", "the line from queue/default to role/none leads to no part"),
        ("edges", 1, "start", "role/none", "the line from role/none to role/worker leads to no part"),
        ("nodes", 1, "id", "queue/default", "two parts have the id queue/default"),
        ("nodes", 0, "id", "worker", "the id worker does not begin with queue/"),
    ],
)
def test_a_picture_whose_parts_do_not_fit(
    part: str, place: int, field: str, value: str, told: str, report: str
) -> None:
    data = json.loads(Path(report).read_text())
    data["stacks"][0]["pictures"][0][part][place][field] = value
    Path(report).write_text(json.dumps(data))
    code, out, err = run("review", "--review-json", report, "--format", "markdown")
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "## Review", '{"a":' + "[" * 100_000, '{"stacks": NaN}', '"\\ud800"']
)
def test_a_file_that_is_no_report(text: str, report: str) -> None:
    Path(report).write_text(text)
    code, out, err = run("review", "--review-json", report)
    assert (code, out) == (2, "")
    assert "review -o FILE.json" in err


def test_a_number_that_json_does_not_have(report: str) -> None:
    text = (
        Path(report).read_text().replace('"after": "registry.example.com/ai/diffusers-lora:2.4"', '"after": 1e999', 1)
    )
    Path(report).write_text(text)
    code, _, err = run("review", "--review-json", report)
    assert code == 2
    assert "the report has a number that JSON does not have" in err


def test_a_report_that_is_not_there(tmp_path: Path) -> None:
    code, _, err = run("review", "--review-json", str(tmp_path / "none.json"))
    assert code == 2
    assert "--review-json = " in err


# --- posting


def test_it_is_posted_after_it_is_shown(api: GithubApi, report: str) -> None:
    code, out, err = run("review", "--review-json", report, "--post", "github")
    assert (code, err) == (0, "trainform: the comment on 2 stacks is made\n")
    assert out.startswith("Review of 2 stacks")
    [comment] = api.of()
    assert "actions/runs/100)" in comment.body


def test_a_comment_for_each_with_a_link(api: GithubApi, report: str) -> None:
    words = ["--comments", "each", "--details", "https://ci.example.com/review.html"]
    code, _, err = run("review", "--review-json", report, "--post", "github", *words)
    assert code == 0
    assert "the comment on the stack sdxl-lora.prod is made" in err
    assert "nothing changes in the stack hello.dev" in err
    [comment] = api.of()
    assert "[The whole report](https://ci.example.com/review.html)" in comment.body


def test_what_failed_where_the_report_was_made_does_not_fail_the_posting(api: GithubApi, tmp_path: Path) -> None:
    """The job that made the report has failed already. Who wants to hear it again says so by a condition, or does not post."""
    failed = stored(tmp_path, ONE_FAILED)
    assert run("review", "--review-json", failed, "--post", "github")[0] == 0
    assert "The preview failed" in api.of()[0].body
    assert run("review", "--review-json", failed)[0] == 1
    assert run("review", "--review-json", failed, "--post", "github", "--fail-on", "data")[0] == 1
    api.tokens[TOKEN] = Right(ACTIONS, write=False)
    assert run("review", "--review-json", failed, "--post", "github", "--comments", "each")[0] == 1, "nothing is posted"


def test_a_condition_keeps_its_exit_code(api: GithubApi, report: str) -> None:
    assert run("review", "--review-json", report, "--post", "github", "--fail-on", "high")[0] == 3
    assert len(api.of()) == 1


def test_where_posting_fails_the_report_is_there_all_the_same(api: GithubApi, report: str, tmp_path: Path) -> None:
    api.tokens[TOKEN] = Right(ACTIONS, write=False)
    file = tmp_path / "review.md"
    code, out, err = run("review", "--review-json", report, "--post", "github", "-o", str(file), "--fail-on", "high")
    assert code == 1
    assert out.startswith("Review of 2 stacks")
    assert file.read_text(encoding="utf-8").startswith("## Review of 2 stacks")
    assert "the token may not do this (403 Forbidden: Resource not accessible by integration)" in err
    assert "pull-requests: write" in err
    assert TOKEN not in out + err


@pytest.mark.parametrize("words", [["--comments", "each"], ["--details", "https://ci.example.com/"]])
def test_words_of_posting_alone(words: list[str], report: str) -> None:
    code, _, err = run("review", "--review-json", report, *words)
    assert code == 2
    assert "add `--post github`" in err


def test_all_variables_that_are_missing_are_told_before_a_preview_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(tmp_path))  # no engine
    monkeypatch.setenv("GITHUB_REPOSITORY", "training")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "none.json"))
    monkeypatch.chdir(ROOT)
    code, out, err = run("review", "dev", "--post", "github", "--details", "http://ci.example.com")
    assert (code, out) == (2, "")
    assert "5 problems:" in err
    for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY = training", "GITHUB_EVENT_PATH", "GITHUB_RUN_ID", "--details"):
        assert f"\n{name}" in err


def test_the_engine_and_its_program_do_not_get_the_token(
    api: GithubApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that writes down its variables, and fails."""
    engine, seen = tmp_path / "pulumi", tmp_path / "variables"
    engine.write_text(f"#!/bin/sh\nenv > {seen}\nexit 1\n")
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name, value in {
        "GH_TOKEN": "ghp_other0token",
        "NETRC": f"machine github.com password {TOKEN}",
        "KEPT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)
    assert run("review", "dev", "--no-cluster", "--post", "github")[0] == 1
    found = seen.read_text()
    assert [name for name in ("GITHUB_TOKEN=", "GH_TOKEN=", "NETRC=", TOKEN) if name in found] == []
    assert "KEPT=1\n" in found
    assert "The preview failed" in api.of()[0].body
    run("review", "dev", "--no-cluster")
    assert f"GITHUB_TOKEN={TOKEN}\n" in seen.read_text()


def test_usual(api: GithubApi, tmp_path: Path) -> None:
    one = stored(tmp_path, review_of([USUAL], project="training"), "one.json")
    assert run("review", "--review-json", one, "--post", "github")[0] == 0
    assert "## Review of sdxl-lora.prod" in api.of()[0].body
