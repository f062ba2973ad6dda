"""The image's name follows its inputs, its lock files are whole, and Docker has it whole or not at all."""

from __future__ import annotations

import io
import os
import platform
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import docker_daemon, rehearsal_image
from tools.debian import NotHereError
from tools.rehearsal_image import INPUTS, REPOSITORY, SITE, image_name
from trainform.console.progress import SILENT
from trainform.errors import TrainformError

LOCKS = ("python", "openmpi", "build")
PIN = re.compile(r"([a-z0-9-]+)==\S+ ")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    return shutil.copytree(INPUTS, tmp_path / "image")


def test_the_name_is_the_same_in_every_checkout(inputs: Path) -> None:
    assert image_name(inputs) == image_name()
    assert re.fullmatch(f"{REPOSITORY}:{rehearsal_image.TAG.pattern}", image_name())


@pytest.mark.parametrize("name", sorted(path.name for path in INPUTS.iterdir()))
def test_the_name_follows_every_input(inputs: Path, name: str) -> None:
    with (inputs / name).open("a") as file:
        file.write("\n")
    assert image_name(inputs) != image_name()


def pins(lock: str) -> set[str]:
    return {found[1] for line in (INPUTS / f"{lock}.txt").read_text().splitlines() if (found := PIN.match(line))}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_wanted_package_is_pinned(lock: str) -> None:
    wanted = {re.split("[<>=]", line)[0] for line in rehearsal_image.words(INPUTS / f"{lock}.in")}
    assert wanted
    assert wanted <= pins(lock)


def test_torch_and_what_belongs_to_it_comes_from_debian() -> None:
    for name in ("from-debian.txt", "unused.txt"):
        assert not pins("python") & set(rehearsal_image.words(INPUTS / name)), name
    assert "python3-torch" in rehearsal_image.words(INPUTS / "debian.txt")


def test_commands_start_the_images_python(tmp_path: Path) -> None:
    commands = tmp_path / SITE / "bin"
    commands.mkdir(parents=True)
    (commands / "deepspeed").write_text("#!/home/someone/.venv/bin/python\nimport deepspeed\n")
    (commands / "ds_ssh").write_text("#!/bin/bash\n# python\n")
    (commands / "ninja").write_bytes(b"\x7fELF\n\xff")
    for name in ("tensorflow/include/a.h", "tensorflow/python/a.py"):
        (tmp_path / SITE / name).parent.mkdir(parents=True)
        (tmp_path / SITE / name).touch()
    rehearsal_image.arrange(tmp_path)
    moved = {path.name: path.read_bytes() for path in (tmp_path / "usr/local/bin").iterdir()}
    assert moved == {
        "deepspeed": b"#!/usr/bin/python3\nimport deepspeed\n",
        "ds_ssh": b"#!/bin/bash\n# python\n",
        "ninja": b"\x7fELF\n\xff",
    }
    assert sorted(path.name for path in (tmp_path / SITE / "tensorflow").iterdir()) == ["python"]


def test_another_kind_of_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(NotHereError, match="for x86_64, this machine is aarch64"):
        rehearsal_image.build("name:tag", tmp_path / "folder", SILENT)
    assert not (tmp_path / "folder").exists()


def test_without_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with pytest.raises(
        TrainformError, match=r"no Docker daemon answers\n  fix: `python -m tools.docker_daemon` starts a daemon"
    ):
        rehearsal_image.ensure(SILENT)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a repository of this test's own in the real Docker; its images go afterwards."""
    if docker_daemon.version() is None:
        pytest.skip("no Docker daemon answers: `make rehearse` starts one")
    name = f"{REPOSITORY}-test-{os.getpid()}"
    monkeypatch.setattr(rehearsal_image, "REPOSITORY", name)
    yield name
    with rehearsal_image.engine() as client:
        for image in client.images.list(name):
            client.images.remove(str(image.id), force=True)


def packed(path: Path, content: bytes) -> Path:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("etc/content")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path


def test_docker_has_the_image_whole_or_not_at_all(tmp_path: Path, repository: str) -> None:
    name = f"{repository}:{'0' * 12}"
    archive = packed(tmp_path / "image.tar", os.urandom(100_000))
    half = tmp_path / "half.tar"
    half.write_bytes(archive.read_bytes()[:50_000])
    with pytest.raises(TrainformError, match="Docker"):
        rehearsal_image.bring_in(half, name)
    assert not rehearsal_image.is_there(name)
    rehearsal_image.bring_in(archive, name)
    assert rehearsal_image.is_there(name)
    with rehearsal_image.engine() as client:
        config = client.images.get(name).attrs["Config"]
    assert (config["Cmd"], config["Env"]) == (["sleep", "infinity"], ["LANG=C.UTF-8"])
