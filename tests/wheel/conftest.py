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
from tests.repository import ROOT
from tools.venv import of_pip
from trainform.toolchain.cache import cache_folder

__all__ = ["toolchain"]
UV = (sys.executable, "-m", "uv")


@dataclasses.dataclass(frozen=True)
class Installed:
    """A wheel, and the virtual environment with it and what it needs."""

    wheel: Path
    venv: Path

    def shell(self, script: str, folder: Path) -> Ran:
        """Run the script in a shell that knows the environment and nothing else, as a newcomer's does."""
        environ = {
            "HOME": str(self.venv.parent),
            "PATH": f"{self.venv / 'bin'}:/usr/bin:/bin",
            "TRAINFORM_CACHE": str(cache_folder()),
        }
        return run(["bash", "-e", "-c", script], folder, environ)


def locked() -> str:
    """The versions of the lock, as constraints: without the hashes, since the wheel has none."""
    return re.sub(r"( \\)?\n +--hash=\S+", "", (ROOT / "requirements.txt").read_text())


def done(*words: str, **environ: str) -> None:
    ran = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Built and installed once. Packages come from uv's cache, which `make venv` has filled; what is missing there, from where pip takes it."""
    folder = tmp_path_factory.mktemp("wheel")
    done(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "dist"))
    (wheel,) = (folder / "dist").glob("*.whl")
    (folder / "constraints.txt").write_text(locked())
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    done(*UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv"))
    done(
        *UV, "pip", "install", "--quiet", "--python", str(folder / "venv" / "bin" / "python"),
        "--constraint", str(folder / "constraints.txt"), str(wheel), "pip",
        **of_pip(configured.stdout),
    )  # fmt: skip
    return Installed(wheel, folder / "venv")
