"""Files are written completely or not at all, and never overwrite another one."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.samples import JOB
from trainform import defaults
from trainform.cli.main import main
from trainform.console.files import create_files, read_text, replacing, was_read
from trainform.errors import InputError, TrainformError
from trainform.spec.experiment import Experiment
from trainform.spec.load import LoadResult, read_runtime
from trainform.spec.read import NOWHERE

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


REGULAR = "give the path of a regular file"


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def make_link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def make_file(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


WRONG = [
    pytest.param(make_pipe, "the path leads to a pipe, not to a file", REGULAR, id="a pipe"),
    pytest.param(make_socket, "the path leads to a socket, not to a file", REGULAR, id="a socket"),
    pytest.param(Path.mkdir, "the path leads to a directory, not to a file", REGULAR, id="a directory"),
    pytest.param(
        make_link("/dev/zero"), "the path leads to a device, not to a file", REGULAR, id="a device without end"
    ),
    pytest.param(make_link("/dev/null"), "the path leads to a device, not to a file", REGULAR, id="an empty device"),
    pytest.param(
        make_link("/nowhere/x.yaml"),
        "the file cannot be read: it is a link to /nowhere/x.yaml, and nothing is there",
        "check the path and its permissions",
        id="a link to nothing",
    ),
    pytest.param(
        make_link("mine.yaml"),
        "the file cannot be read: too many levels of symbolic links",
        "check the path and its permissions",
        id="a link to itself",
    ),
    pytest.param(
        make_file(b"a: 1\n" + b"#" * defaults.LARGEST_FILE),
        "the file is 1.0 MB long, and at most 1 MiB are read",
        "check the path: no such file is so long",
        id="a file that is too long",
    ),
]


@pytest.mark.parametrize(("make", "reason", "fix"), WRONG)
def test_only_regular_files_are_read(make: Callable[[Path], None], reason: str, fix: str, tmp_path: Path) -> None:
    make(tmp_path / "mine.yaml")
    with pytest.raises(InputError) as told:
        read_text(tmp_path / "mine.yaml", "mine.yaml")
    assert [(problem.source, problem.reason, problem.fix) for problem in told.value.problems] == [
        ("mine.yaml", reason, fix)
    ]


@pytest.mark.parametrize("verb", ["check", "plan", "render", "rehearse"])
def test_both_files_of_a_verb(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    make_pipe(path)
    for experiment, environment in ((str(path), "dev"), ("hello", str(path)), (str(path), str(path))):
        with pytest.raises(SystemExit) as end:
            main([verb, experiment, "-e", environment])
        assert end.value.code == 2
        problem = f"{path}: (whole file)\n  why: the path leads to a pipe, not to a file\n  fix: {REGULAR}\n"
        assert capsys.readouterr() == ("", f"trainform: 1 problem:\n{problem}")


def test_the_file_of_a_runtime(tmp_path: Path) -> None:
    make_pipe(tmp_path / "mine.yaml")
    experiment = Experiment.model_validate({**JOB, "runtime": {"name": "torch", "file": "mine.yaml"}})
    (problem,) = read_runtime(LoadResult(experiment, (), NOWHERE), tmp_path).problems
    assert problem.reason == "the path leads to a pipe, not to a file"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there.yaml").write_text("a: 1\n")
    (tmp_path / "link.yaml").symlink_to("there.yaml")
    assert read_text(tmp_path / "link.yaml", "link.yaml") == "a: 1\n"


@pytest.mark.parametrize("length", [defaults.LARGEST_FILE - 1, defaults.LARGEST_FILE])
def test_the_longest_file_that_is_read(length: int, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"#" * length)
    assert len(read_text(tmp_path / "mine.yaml", "mine.yaml")) == length


def test_a_file_that_was_read_is_known_by_any_path(tmp_path: Path) -> None:
    file, link, hard = tmp_path / "a.yaml", tmp_path / "link", tmp_path / "hard"
    file.write_text("a")
    link.symlink_to(file)
    hard.hardlink_to(file)
    assert not was_read(file)
    read_text(link, "link")
    assert was_read(file)
    assert was_read(hard)
    assert not was_read(tmp_path / "nowhere")
