"""Pulumi with its Python host and the kubernetes plugin: this machine's, or one in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import partial_folder
from trainform.local.toolchain.needs import Need
from trainform.local.toolchain.origins import SYSTEM
from trainform.local.toolchain.parts import PLUGIN_VERSION, PULUMI_PARTS
from trainform.local.toolchain.releases import RELEASES
from trainform.local.toolchain.system import PLUGIN, find_system_pulumi
from trainform.local.toolchain.tools import PulumiTools

NAME = "pulumi"


def ready_pulumi(origins: Sequence[str], folder: Path) -> PulumiTools | None:
    """Return the Pulumi of the first allowed origin that is ready, None if there is none."""
    if SYSTEM in origins:
        try:
            return find_system_pulumi()
        except ToolchainError:
            pass  # `pulumi_need` shows the reason
    found = _need(origins).finished(folder)
    return None if found is None else PulumiTools(found[1] / "bin", found[1] / "home", found[0])


def pulumi_need(origins: Sequence[str], progress: Progress) -> Need:
    """Return the need for a Pulumi in the cache. A note says why the allowed Pulumi of this machine is not used."""
    if SYSTEM in origins:
        try:
            find_system_pulumi()
        except ToolchainError as error:
            progress.note(f"pulumi, {SYSTEM}: {error.message}")
            return _need(origins, error)
    return _need(origins)


def _need(origins: Sequence[str], unusable: ToolchainError | None = None) -> Need:
    others = tuple(origin for origin in origins if origin != SYSTEM)
    return Need(NAME, PULUMI_PARTS, RELEASES[NAME], others, "pulumi-build", unusable, _install, _assemble_built)


def _assemble_built(folder: Path, final: Path, progress: Progress) -> None:
    binaries = {path.name: path for part in PULUMI_PARTS for path in (folder / part.folder / "bin").iterdir()}
    with hold(folder / "lock", "installing pulumi", progress):
        _assemble(final, binaries, binaries.pop(PLUGIN), progress)


def _install(unpacked: Path, final: Path, progress: Progress) -> None:
    binaries = {path.name: path for path in (unpacked / "bin").iterdir()}
    _assemble(final, binaries, unpacked / "plugin" / PLUGIN, progress)
    shutil.rmtree(unpacked, ignore_errors=True)


def _assemble(final: Path, binaries: dict[str, Path], plugin: Path, progress: Progress) -> None:
    """Make a folder with all commands in one `bin`, where they look for each other, and the plugin in a PULUMI_HOME."""
    if final.is_dir():  # another process may have made it while we waited
        return
    with progress.step("installing pulumi and its kubernetes plugin"):
        partial = partial_folder(final)
        (partial / "bin").mkdir()
        for name, path in binaries.items():
            os.link(path, partial / "bin" / name)
        _pulumi(partial, ["plugin", "install", "resource", "kubernetes", f"v{PLUGIN_VERSION}", "-f", str(plugin)])
        for copy in partial.glob(f"home/plugins/*/{PLUGIN}"):
            copy.unlink()
            os.link(plugin, copy)  # one file of 160 MB instead of two
        partial.rename(final)


def _pulumi(folder: Path, arguments: list[str]) -> None:
    environment = {**os.environ, "PULUMI_HOME": str(folder / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    command = [str(folder / "bin" / "pulumi"), *arguments]
    try:
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"pulumi cannot be run: {error}", "set TRAINFORM_TOOLCHAIN=build") from error
    if answer.returncode != 0:
        raise ToolchainError(
            f"`pulumi {arguments[0]}` failed:", "set TRAINFORM_TOOLCHAIN=build", answer.stderr.splitlines()
        )
