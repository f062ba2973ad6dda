"""What has changed since a branch, in real repositories of git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import commit_all, git
from trainform.errors import InputError
from trainform.review.changed_files import changed_files

EXPERIMENT = "stacks/experiments/resnet.yaml"


def write(folder: Path, name: str, text: str = "name: resnet\n") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project at the top of its repository, on a branch that began at main's only commit."""
    folder = tmp_path / "project"
    for name in ("Pulumi.yaml", "README.md", EXPERIMENT, "stacks/environments/dev.yaml"):
        write(folder, name)
    commit_all(folder)
    git(folder, "switch", "--create", "faster")
    return folder


def changed(folder: Path, since: str = "main") -> list[str]:
    return [*changed_files(folder, since).paths]


def refusal(folder: Path, since: str = "main") -> str:
    with pytest.raises(InputError) as caught:
        changed_files(folder, since)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_nothing_has_changed(project: Path) -> None:
    found = changed_files(project, "main")
    assert (found.paths, found.base) == ((), git(project, "rev-parse", "main"))


def test_commits_edits_and_files_that_git_does_not_know_yet(project: Path) -> None:
    write(project, ".gitignore", "*.log\n")
    write(project, EXPERIMENT, "name: resnet\nimage: b\n")
    commit_all(project)
    write(project, "README.md", "staged\n")
    git(project, "add", "README.md")
    write(project, "stacks/environments/dev.yaml", "edited\n")
    write(project, "stacks/experiments/new.yaml")
    write(project, "run.log")
    names = [".gitignore", "README.md", "stacks/environments/dev.yaml", "stacks/experiments/new.yaml", EXPERIMENT]
    assert changed(project) == names


def test_what_others_change_on_the_branch_since_then_does_not_count(project: Path) -> None:
    base = git(project, "rev-parse", "main")
    git(project, "switch", "main")
    write(project, "README.md", "of another change\n")
    commit_all(project)
    git(project, "switch", "faster")
    write(project, EXPERIMENT, "name: resnet\nimage: b\n")
    assert changed_files(project, "main") == changed_files(project, base)
    assert changed(project) == [EXPERIMENT]


def test_both_names_of_a_renamed_file_and_a_file_that_is_gone(project: Path) -> None:
    git(project, "config", "diff.renames", "copies")
    git(project, "mv", EXPERIMENT, "stacks/experiments/resnet50.yaml")
    (project / "README.md").unlink()
    assert changed(project) == ["README.md", EXPERIMENT, "stacks/experiments/resnet50.yaml"]


def test_a_project_below_the_top_of_its_repository(tmp_path: Path) -> None:
    project = tmp_path / "teams" / "vision ä"
    for name in ("Pulumi.yaml", EXPERIMENT):
        write(project, name)
    write(tmp_path, "shared/dev.yaml")
    commit_all(tmp_path)
    git(tmp_path, "config", "diff.relative", "true")
    write(project, EXPERIMENT, "other\n")
    write(project, "new.py")
    write(tmp_path, "shared/dev.yaml", "other\n")
    write(tmp_path, "teams/speech/new.py")
    assert changed(project) == ["../../shared/dev.yaml", "../speech/new.py", "new.py", EXPERIMENT]


def test_nothing_of_the_repository_runs(project: Path, tmp_path: Path) -> None:
    """Hooks, a monitor of files, a pager and programs that show differences: whoever makes a pull request could choose
    them."""
    program, trace = tmp_path / "program", tmp_path / "trace"
    program.write_text(f"#!/bin/sh\necho ran $0 $@ >> {trace}\n", encoding="utf-8")
    program.chmod(0o755)
    git(project, "config", "core.hooksPath", ".hooks")
    (project / ".hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (project / ".hooks" / hook).symlink_to(program)
    write(project, ".gitattributes", "* diff=shown\n")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "pager.diff",
        "diff.external",
        "diff.shown.command",
        "diff.shown.textconv",
    ):
        git(project, "config", key, str(program))
    trace.unlink(missing_ok=True)
    write(project, EXPERIMENT, "other\n")
    index = (project / ".git" / "index").read_bytes()
    assert changed(project) == [".gitattributes", ".hooks/fsmonitor-watchman", ".hooks/post-index-change",
        ".hooks/reference-transaction", EXPERIMENT]  # fmt: skip
    assert not trace.exists()
    assert (project / ".git" / "index").read_bytes() == index


@pytest.mark.parametrize("since", ["", "-main", "--output=x", "--help"])
def test_what_is_no_name_of_a_commit(project: Path, since: str) -> None:
    said = refusal(project, since)
    assert "is no name of a commit" in said
    assert "fix: give a branch, a tag or a commit: origin/main" in said
    assert not (project / "x").exists()


def test_an_unknown_name(project: Path) -> None:
    for since in ("master", "v9.9", "main:README.md"):
        said = refusal(project, since)
        assert f"--changed-since = {since}" in said
        assert "why: git knows no such branch, tag or commit" in said
        assert "fix: give one that `git log` shows: main, origin/main" in said


def test_a_shallow_clone(project: Path, tmp_path: Path) -> None:
    for text in ("b", "c"):
        write(project, EXPERIMENT, text)
        commit_all(project)
    git(project, "switch", "main")
    write(project, "README.md", "of main\n")
    commit_all(project)
    words = ["--depth", "1", "--no-single-branch", "--branch", "faster"]
    git(tmp_path, "clone", *words, project.as_uri(), "clone")
    clone = tmp_path / "clone"
    fix = "fix: get the whole history: `git fetch --unshallow`, or `fetch-depth: 0`"
    said = refusal(clone, "origin/main")
    assert "why: the clone is shallow and lacks the commit from which the change began" in said
    assert fix in said
    assert fix in refusal(clone, "v1")
    git(clone, "fetch", "--unshallow")
    assert changed(clone, "origin/main") == [EXPERIMENT]
