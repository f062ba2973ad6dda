"""What runs the scripts: each of the shells that training images have as /bin/sh."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plan.launch.repositories import repository, server, volume
from tests.plan.launch.starting import Container, install
from tools import shells
from trainform.console.progress import SILENT

__all__ = ["repository", "server", "volume"]
SHELLS = ("dash", "bash", "busybox")


@pytest.fixture(params=SHELLS, scope="session")
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a program called `sh`, as in an image where /bin/sh is a link: bash then keeps to POSIX, and busybox
    is a shell."""
    link: Path = tmp_path_factory.mktemp(request.param) / "sh"
    link.symlink_to(shells.shell(request.param, SILENT))
    return link


@pytest.fixture(scope="session")
def programs(shell: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an image: busybox's own, or those of this machine."""
    program = shell.resolve()
    if program.name != "busybox":
        return Path("/usr/bin")
    folder = tmp_path_factory.mktemp("applets")
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, timeout=20, check=True)
    for name in listed.stdout.split():
        (folder / name).symlink_to(program)
    return folder


@pytest.fixture
def container(tmp_path: Path, shell: Path, programs: Path) -> Iterator[Container]:
    """A container whose processes end with the test."""
    made = Container(tmp_path, shell, str(programs))
    yield made
    made.close()


@pytest.fixture
def tools(tmp_path: Path, shell: Path) -> Path:
    """What an image has on its PATH: this shell, and every launcher."""
    return install(tmp_path, shell)
