"""The script of a git checkout, run by the shells of images with the real git against repositories on this machine."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from trainform.plan.checkout import CHECKOUT

SHELLS = [shell for shell in (("/bin/sh",), ("bash", "--posix"), ("busybox", "sh")) if shutil.which(shell[0])]
# Protocol 2 gives any commit that is there; servers that refuse speak the older one.
REFUSES = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.version", "GIT_CONFIG_VALUE_0": "0"}


@dataclasses.dataclass(frozen=True)
class Repository:
    """A repository with two commits on its branch and two on another one; `beside` is the first of these."""

    path: Path
    first: str
    head: str
    beside: str


@dataclasses.dataclass
class Volume:
    """The pod's empty volume, and a home without settings."""

    path: Path
    home: Path
    shell: tuple[str, ...] = ("/bin/sh",)

    def run(self, repository: str | Path, commit: str, **environ: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "TRAINFORM_GIT_REPOSITORY": str(repository), "TRAINFORM_GIT_COMMIT": commit, "TRAINFORM_GIT_PATH": str(self.path),
        }  # fmt: skip
        script = self.home / "checkout.sh"
        script.write_text(CHECKOUT)
        return subprocess.run(
            [*self.shell, str(script)],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "GIT_CONFIG_NOSYSTEM": "1",
                **variables,
                **environ,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.path.iterdir() if path.is_file()}

    def git(self, *words: str) -> str:
        return _git(self.path, *words)


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    path = tmp_path / "sdxl.git"
    path.mkdir()
    _git(path, "init", "-q", "-b", "trunk")
    hashes = []
    for text in ("first", "second"):
        (path / "train.py").write_text(text)
        _git(path, "add", ".")
        _git(path, "commit", "-q", "-m", text)
        hashes.append(_git(path, "rev-parse", "HEAD"))
    _git(path, "checkout", "-q", "-b", "beside", hashes[0])
    (path / "extra.py").write_text("beside")
    _git(path, "add", ".")
    _git(path, "commit", "-q", "-m", "beside")
    beside = _git(path, "rev-parse", "HEAD")
    _git(
        path, "commit", "-q", "--allow-empty", "-m", "later"
    )  # servers give the tips of branches by their hash in any case
    _git(path, "checkout", "-q", "trunk")
    first, head = hashes
    return Repository(path, first, head, beside)


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    path, home = tmp_path / "code", tmp_path / "home"
    path.mkdir()
    home.mkdir()
    return Volume(path, home)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
@pytest.mark.parametrize("server", [{}, REFUSES], ids=["gives", "refuses"])
def test_the_commit_and_not_the_head_of_its_branch(
    server: dict[str, str], shell: tuple[str, ...], repository: Repository, volume: Volume
) -> None:
    volume.shell = shell
    done = volume.run(repository.path, repository.first, **server)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"trainform: {repository.path} at {repository.first} in {volume.path}\n"
    assert volume.files() == {"train.py": "first"}
    assert volume.git("status", "--porcelain") == "", "nothing of ours lies about"


def test_only_that_commit_is_fetched_where_the_server_gives_it(repository: Repository, volume: Volume) -> None:
    volume.run(repository.path, repository.head)
    assert volume.git("rev-parse", "--is-shallow-repository") == "true"
    assert volume.git("rev-list", "--all", "HEAD") == repository.head


@pytest.mark.parametrize("server", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_of_another_branch(server: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.path, repository.beside, **server)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "extra.py": "beside"}


def test_a_commit_that_only_a_tag_has(repository: Repository, volume: Volume) -> None:
    _git(repository.path, "tag", "v1", "beside")
    _git(repository.path, "branch", "-q", "-D", "beside")
    assert volume.run(repository.path, repository.beside, **REFUSES).returncode == 0
    assert "extra.py" in volume.files()


@pytest.mark.parametrize("server", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_that_is_not_there(server: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.path, "0" * 40, **server)
    assert done.returncode == 1
    assert done.stderr == f"trainform: {repository.path} has no commit {'0' * 40}\n"


def test_a_repository_that_is_not_there(tmp_path: Path, volume: Volume) -> None:
    done = volume.run(tmp_path / "nowhere.git", "0" * 40)
    assert done.returncode != 0
    assert "does not appear to be a git repository" in done.stderr
    assert "has no commit" not in done.stderr, "nobody knows"


def test_again_as_after_a_restart_of_the_pod(repository: Repository, volume: Volume) -> None:
    """Also without the server, and after somebody has changed files; what training wrote stays."""
    assert volume.run(repository.path, repository.first).returncode == 0
    (volume.path / "train.py").write_text("changed")
    (volume.path / "checkpoint.pt").write_text("weights")
    done = volume.run(repository.path / "gone", repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "checkpoint.pt": "weights"}


def test_again_after_it_was_killed(repository: Repository, volume: Volume) -> None:
    """git leaves its locks behind, and would wait for somebody who is gone."""
    volume.git("init", "-q")
    for lock in ("index.lock", "shallow.lock", "HEAD.lock"):
        (volume.path / ".git" / lock).write_text("")
    done = volume.run(repository.path, repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_the_folder_belongs_to_somebody_else(repository: Repository, volume: Volume) -> None:
    """The kubelet makes it as root, and the containers may run as another user."""
    os.chown(volume.path, 12345, 12345)
    done = volume.run(repository.path, repository.first)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_git(volume: Volume, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    done = volume.run("https://git.example.com/sdxl.git", "0" * 40, PATH=str(empty))
    assert done.returncode == 1
    assert done.stderr == "trainform: the image has no git; name one that has it in `image:` of the step\n"
    assert volume.files() == {}


def test_a_password_in_the_address_is_not_printed(repository: Repository, volume: Volume) -> None:
    """`repository: https://trainer:$(TOKEN)@…`: Kubernetes puts the value in before the script sees it."""
    address = "https://trainer:hunter2@git.example.com/sdxl.git"
    mapped = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.path}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }
    for commit in (repository.head, "0" * 40):
        done = volume.run(address, commit, **mapped)
        assert "hunter2" not in done.stdout + done.stderr
        assert (
            f"https://git.example.com/sdxl.git{' at' if commit == repository.head else ' has no commit'}"
            in done.stdout + done.stderr
        )


def test_a_key_and_the_hosts_that_it_is_for(volume: Volume, tmp_path: Path) -> None:
    """ssh is asked with this key and these hosts alone. (sshd itself: `test_ssh_scripts`.)"""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        '#!/bin/sh\nfor word in "$@"; do case $word in *known_hosts*) cat "${word#*=}" >&2 ;; esac; done\necho "$@" >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    lines = ["[git.example.com]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", "*.example.com ssh-rsa AAAAB3"]
    done = volume.run(
        "ssh://git@git.example.com:2222/sdxl.git",
        "0" * 40,
        TRAINFORM_GIT_KEY="/etc/trainform-git/code/id_ed25519",
        TRAINFORM_GIT_KNOWN_HOSTS="\n".join(lines),
        PATH=f"{ssh.parent}:{os.environ['PATH']}",
    )
    assert done.returncode != 0
    told = done.stderr.splitlines()
    assert told[:2] == lines
    assert "-i /etc/trainform-git/code/id_ed25519 -o IdentitiesOnly=yes" in told[2]
    assert "-o StrictHostKeyChecking=yes" in told[2]
    assert "-o BatchMode=yes" in told[2]
