"""Repositories on this machine, git's own server of them, and the volume of a pod into which one is checked out."""

from __future__ import annotations

import dataclasses
import functools
import os
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainform.plan.launch.scripts import script


@dataclasses.dataclass(frozen=True)
class Repository:
    """A repository with two commits on its branch and two on another one; `beside` is the first of these."""

    path: Path
    address: str
    first: str
    head: str
    beside: str


@dataclasses.dataclass
class Volume:
    """The pod's empty volume, and a home without settings."""

    path: Path
    home: Path
    shell: Path = Path("/bin/sh")

    def run(self, repository: str, commit: str, **environ: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "TRAINFORM_GIT_REPOSITORY": repository, "TRAINFORM_GIT_COMMIT": commit,
            "TRAINFORM_GIT_PATH": str(self.path),
        }  # fmt: skip
        file = self.home / "checkout.sh"
        file.write_text(script("checkout.sh"))
        return subprocess.run(
            [str(self.shell), str(file)],
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


class _Connection(socketserver.BaseRequestHandler):
    """Git's own server on one connection, as inetd would start it. It serves the repositories below the folder."""

    def __init__(self, folder: Path, *connection: Any) -> None:
        self.folder = folder
        super().__init__(*connection)

    def handle(self) -> None:
        command = ["git", "daemon", "--inetd", "--export-all", "--log-destination=none", f"--base-path={self.folder}"]
        subprocess.run(command, stdin=self.request, stdout=self.request, timeout=60, check=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of all repositories in the folders of these tests."""
    folder = tmp_path_factory.getbasetemp()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), functools.partial(_Connection, folder)) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"git://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path, server: str) -> Repository:
    path = tmp_path / "sdxl.git"
    path.mkdir()
    return committed(path, server)


def committed(path: Path, server: str, *options: str) -> Repository:
    """A new repository in this folder. `options`: of `git init`."""
    _git(path, "init", "-q", "-b", "trunk", *options)
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
    address = f"{server}/{path.parent.name}/{path.name}"
    return Repository(path, address, first, head, beside)


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    path, home = tmp_path / "code", tmp_path / "home"
    path.mkdir()
    home.mkdir()
    return Volume(path, home)
