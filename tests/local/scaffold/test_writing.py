"""Files into a project: what stands in the way is named, all of it, and nothing is written then."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.errors import InputError
from trainform.local.scaffold.writing import write_files

FILES = {"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "stacks/c.yaml": "c: 1\n"}


def refused(folder: Path, **words: bool) -> dict[str, str]:
    with pytest.raises(InputError) as raised:
        write_files(folder, FILES, "move it away", **words)
    return {problem.path: problem.reason for problem in raised.value.problems}


def test_another_file_is_a_conflict_and_nothing_is_written_then(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 2\n")
    (tmp_path / "b.yaml").write_text(FILES["b.yaml"])
    assert refused(tmp_path) == {"a.yaml": "exists already"}
    assert not (tmp_path / "stacks").exists()
    (tmp_path / "a.yaml").write_text(FILES["a.yaml"])
    assert write_files(tmp_path, FILES, "") == ["stacks/c.yaml"]


def test_a_linked_folder_is_refused_if_links_are(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "stacks").symlink_to("../victim")
    assert refused(project, through_links=False) == {"stacks": "is a link to another folder"}
    assert list((tmp_path / "victim").iterdir()) == []
    write_files(project, FILES, "")
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["c.yaml"]
