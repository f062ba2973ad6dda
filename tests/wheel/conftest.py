"""The wheel of this repository, installed where the repository is not."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.conftest import toolchain
from tests.engine.project import Ran, run
from tests.support.repository import ROOT
from tools.venv import uv_variables
from trainform.local.toolchain.cache import cache_folder

__all__ = ["toolchain"]
# Where packages come from, as the user of this machine has set it.
REGISTRY = re.compile("(PIP|UV)_|SSL_CERT_|.*_PROXY$|.*_proxy$")
UV = (sys.executable, "-m", "uv")


@dataclasses.dataclass(frozen=True)
class Installed:
    """A wheel, and the virtual environment with it and what it needs."""

    wheel: Path
    venv: Path

    def shell(self, script: str, folder: Path) -> Ran:
        """Run the script in a shell that knows the environment and nothing else, as a newcomer's does."""
        environ = {
            **{name: value for name, value in os.environ.items() if REGISTRY.match(name)},
            "HOME": str(self.venv.parent),
            "PATH": f"{self.venv / 'bin'}:/usr/bin:/bin",
            "TRAINFORM_CACHE": str(cache_folder()),
        }
        return run(["bash", "-e", "-c", script], folder, environ)


def locked() -> str:
    """Return the versions of the lock, as constraints: without the hashes, since the wheel has none."""
    return re.sub(r"( \\)?\n +--hash=\S+", "", (ROOT / "requirements.txt").read_text())


def done(*words: str, **environ: str) -> None:
    ran = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once."""
    folder = tmp_path_factory.mktemp("wheel") / "dist"
    done(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    (wheel,) = folder.glob("*.whl")
    return wheel


def registry() -> dict[str, str]:
    """uv's variables for where pip takes packages from."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    return uv_variables(configured.stdout)


def install(wheel: Path, folder: Path, *options: str) -> Installed:
    """Return a new environment with the wheel and pip. Packages come from uv's cache, which `make venv` has filled;
    what is missing there, from where pip takes it."""
    made = Installed(wheel, folder / "venv")
    python = ("--python", str(made.venv / "bin" / "python"))
    done(*UV, "venv", "--quiet", "--python", sys.executable, str(made.venv))
    done(*UV, "pip", "install", "--quiet", *python, *options, str(wheel), "pip", **registry())
    return made


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Installed:
    """Installed once, in the versions of the lock."""
    folder = wheel.parent.parent
    (folder / "constraints.txt").write_text(locked())
    return install(wheel, folder, "--constraint", str(folder / "constraints.txt"))


@pytest.fixture(scope="session")
def installed_by_a_user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With the newest of everything, as pip takes it."""
    return install(wheel, tmp_path_factory.mktemp("user"))
