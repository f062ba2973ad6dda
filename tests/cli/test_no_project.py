"""In a folder that is in no project: every verb that needs one says that, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import error_of, run
from trainform.local.scaffold.project import SCHEMAS

REASON = "there is no project here: no Pulumi.yaml in this folder or above"
FIX = "cd into your project, or run `trainform init` in an empty folder"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRAINFORM_SANDBOX", raising=False)


@pytest.mark.parametrize(
    "words",
    [
        ("check", "hello", "-e", "dev"),
        ("check", "hello", "bert", "-e", "dev"),
        ("plan", "hello", "-e", "dev"),
        ("plan", "hello.dev"),
        ("render", "hello", "-e", "dev"),
        ("rehearse", "hello", "-e", "dev"),
        ("sandbox", "up", "-e", "dev"),
        ("doctor", "-e", "dev"),
        ("new", "bert", "-e", "dev"),
        ("new", "-e", "dev"),
        ("schema",),
    ],
    ids=" ".join,
)
def test_outside_of_a_project_the_error_names_the_folder(words: tuple[str, ...], tmp_path: Path) -> None:
    error = error_of(*words, code=2)
    assert (error["message"], error["fix"], error["problems"]) == (REASON, FIX, [])
    assert list(tmp_path.iterdir()) == []


def test_schemas_are_written_where_a_folder_is_named(tmp_path: Path) -> None:
    code, _, err = run("schema", "--folder", "schemas")
    assert (code, err) == (0, "")
    assert len(list((tmp_path / "schemas").glob("*.json"))) == len(SCHEMAS)


def test_paths_of_files_need_no_project(tmp_path: Path) -> None:
    (tmp_path / "here.yaml").write_text("name: here\nnamespace: {name: team}\n")
    error = error_of("check", "./gone.yaml", "-e", "./here.yaml", code=2)
    assert [problem["source"] for problem in error["problems"]] == ["./gone.yaml"]


def test_a_project_without_files_is_told_how_to_begin(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: mine\n")
    error = error_of("plan", "hello", "-e", "dev", code=2)
    assert [problem["fix"] for problem in error["problems"]] == ["run `trainform new -e dev`"]
