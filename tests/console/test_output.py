"""Files are written completely or not at all, and never overwrite another one."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainform.console.output import create_files, replacing
from trainform.errors import TrainformError

TEXTS = {"Pulumi.yaml": "name: vision\n", "stacks/a.yaml": "a\n" * 9, "stacks/deep/er/b.yaml": "ü\n"}


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_files_are_created(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        create_files(tmp_path, TEXTS)
    finally:
        os.umask(before)
    assert content(tmp_path) == TEXTS
    assert (tmp_path / "Pulumi.yaml").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("path", TEXTS)
def test_a_file_that_another_process_created_stays_and_no_other_is_created(path: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("mine")
    folders = {folder for folder in tmp_path.rglob("*") if folder.is_dir()}
    with pytest.raises(FileExistsError):
        create_files(tmp_path, TEXTS)
    assert content(tmp_path) == {path: "mine"}
    assert {folder for folder in tmp_path.rglob("*") if folder.is_dir()} == folders


def test_ctrl_c_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        if (tmp_path / "stacks" / "a.yaml").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_files(tmp_path, TEXTS)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_files() -> Iterator[None]:
    """A limit on the size of files stands in for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(TrainformError) as raised:
        create_files(tmp_path, TEXTS)
    assert raised.value.message == "stacks/a.yaml cannot be written: file too large"
    assert raised.value.fix.startswith("nothing was written: make room")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").write_text("before")
    with pytest.raises(OSError, match="File too large"), replacing(tmp_path / "old") as stream:
        stream.write("after" * 9)
    assert content(tmp_path) == {"old": "before"}


def test_the_stream_takes_the_files_place_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before")
    (tmp_path / "old").chmod(0o604)
    with replacing(tmp_path / "old", (tmp_path / "old").stat()) as stream:
        stream.write("after")
        assert (tmp_path / "old").read_text() == "before"
    assert content(tmp_path) == {"old": "after"}
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o604
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "old") as stream:
        raise KeyboardInterrupt
    assert content(tmp_path) == {"old": "after"}
