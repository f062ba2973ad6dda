"""Files into a project: what stands in the way is named, all of it, and nothing is written then."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainform.errors import InputError
from trainform.local.scaffold.writing import write_files

FILES = {"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "stacks/c.yaml": "c: 1\n"}


@pytest.fixture
def anyones() -> Iterator[Path]:
    """A folder that everybody may use, and somebody for whom files without permissions have none: root reads them
    all."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        yield Path(name)
        os.seteuid(before)


def refused(folder: Path, **words: bool) -> dict[str, str]:
    with pytest.raises(InputError) as raised:
        write_files(folder, FILES, "move it away", **words)
    return {problem.path: problem.reason for problem in raised.value.problems}


def test_an_unreadable_file_is_a_conflict(anyones: Path) -> None:
    for path in ("a.yaml", "b.yaml"):
        (anyones / path).write_text(FILES[path])
    (anyones / "a.yaml").chmod(0)
    assert refused(anyones) == {"a.yaml": "exists already"}
    assert not (anyones / "stacks").exists()
    (anyones / "a.yaml").chmod(0o600)
    assert write_files(anyones, FILES, "") == ["stacks/c.yaml"]


def test_a_linked_folder_is_refused_if_links_are(tmp_path: Path) -> None:
    """A new project does not grow into somebody else's folder; in an old one the user has made the link."""
    (tmp_path / "victim").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "stacks").symlink_to("../victim")
    assert refused(project, through_links=False) == {"stacks": "is a link to another folder"}
    assert list((tmp_path / "victim").iterdir()) == []
    write_files(project, FILES, "")
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["c.yaml"]
