"""The script of a git checkout, run by the shells of images with the real git against repositories on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.plan.launch.repositories import Repository, Volume, _git

# Protocol 2 gives any commit that is there; servers that refuse speak the older one.
REFUSES = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.version", "GIT_CONFIG_VALUE_0": "0"}


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_the_commit_and_not_the_head_of_its_branch(
    protocol: dict[str, str], shell: Path, repository: Repository, volume: Volume
) -> None:
    volume.shell = shell
    done = volume.run(repository.address, repository.first, **protocol)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"trainform: {repository.address} at {repository.first} in {volume.path}\n"
    assert volume.files() == {"train.py": "first"}
    assert volume.git("status", "--porcelain") == "", "nothing of ours lies about"


def test_only_that_commit_is_fetched_where_the_server_gives_it(repository: Repository, volume: Volume) -> None:
    volume.run(repository.address, repository.head)
    assert volume.git("rev-parse", "--is-shallow-repository") == "true"
    assert volume.git("rev-list", "--all", "HEAD") == repository.head


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_of_another_branch(protocol: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.address, repository.beside, **protocol)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "extra.py": "beside"}


def test_a_commit_that_only_a_tag_has(repository: Repository, volume: Volume) -> None:
    _git(repository.path, "tag", "v1", "beside")
    _git(repository.path, "branch", "-q", "-D", "beside")
    assert volume.run(repository.address, repository.beside, **REFUSES).returncode == 0
    assert "extra.py" in volume.files()


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_that_is_not_there(protocol: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.address, "0" * 40, **protocol)
    assert done.returncode == 1
    assert done.stderr == f"trainform: {repository.address} has no commit {'0' * 40}\n"


def test_a_repository_that_is_not_there(server: str, volume: Volume) -> None:
    done = volume.run(f"{server}/nowhere.git", "0" * 40)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"trainform: {server}/nowhere.git cannot be fetched:\n"
        "fatal: remote error: access denied or repository not exported: /nowhere.git\n"
    ), "and nothing of a commit: nobody knows"


def test_again_as_after_a_restart_of_the_pod(repository: Repository, volume: Volume) -> None:
    """Also without the server, and after files were changed. Files that the training wrote stay."""
    assert volume.run(repository.address, repository.first).returncode == 0
    (volume.path / "train.py").write_text("changed")
    (volume.path / "checkpoint.pt").write_text("weights")
    done = volume.run(f"{repository.address}/gone", repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "checkpoint.pt": "weights"}


def test_again_after_it_was_killed(repository: Repository, volume: Volume) -> None:
    """A git that was killed leaves its lock files behind, and the next git would refuse to run."""
    volume.git("init", "-q")
    for lock in ("index.lock", "shallow.lock", "HEAD.lock"):
        (volume.path / ".git" / lock).write_text("")
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_the_folder_belongs_to_somebody_else(repository: Repository, volume: Volume) -> None:
    """The kubelet makes it as root, and the containers may run as another user."""
    os.chown(volume.path, 12345, 12345)
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_git(volume: Volume, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    done = volume.run("https://git.example.com/sdxl.git", "0" * 40, PATH=str(empty))
    assert done.returncode == 1
    assert done.stderr == "trainform: the image has no git; name one that has it in `image:` of the step\n"
    assert volume.files() == {}
