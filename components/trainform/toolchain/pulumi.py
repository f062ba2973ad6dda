"""Pulumi from the first source that has it: this machine, a finished download or build, the network, the pins."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from trainform.errors import InputError, Problem, ToolchainError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.toolchain.build import build_parts
from trainform.toolchain.cache import partial_folder, remove_partials, toolchain_folder
from trainform.toolchain.model import PulumiTools
from trainform.toolchain.parts import PLUGIN_VERSION, PULUMI_PARTS, PULUMI_VERSION, Part
from trainform.toolchain.system import HOST, PLUGIN, find_system_pulumi, remember_version

MODE_VARIABLE = "TRAINFORM_TOOLCHAIN"
MODES = {
    "auto": ("system", "download", "build"),
    "system": ("system",),
    "download": ("download",),
    "build": ("build",),
}


def chosen_origins() -> tuple[str, ...]:
    """The sources that TRAINFORM_TOOLCHAIN allows, in order."""
    mode = os.environ.get(MODE_VARIABLE, "auto")
    if mode not in MODES:
        fix = f"set it to one of {', '.join(MODES)}, or unset it"
        raise InputError([Problem(MODE_VARIABLE, mode, "is not a way to get the tool chain", fix)])
    return MODES[mode]


def ready_pulumi(origins: tuple[str, ...], folder: Path) -> PulumiTools | None:
    """What is there without any work, the sources in order."""
    for origin in origins:
        if (found := READY[origin](folder)) is not None:
            return found
    return None


def ensure_pulumi(progress: Progress, also: tuple[Part, ...] = ()) -> PulumiTools:
    """Pulumi with its Python host and the kubernetes plugin; `ToolchainError` says of every source why it is none.

    If it comes to building, the parts in `also` are built in the same go, so that the time that is told is the whole time.
    """
    origins = chosen_origins()
    folder = toolchain_folder()
    ready = ready_pulumi(origins, folder)
    if ready is not None:
        if ready.origin == "system":
            remember_version(ready.bin / "pulumi")
        return ready
    refusals: list[ToolchainError] = []
    for origin in origins:
        try:
            return MAKE[origin](folder, progress, also)
        except ToolchainError as error:
            refusals.append(error)
            for line in (error.message, *error.details):
                progress.note(f"pulumi, {origin}: {line}")
    lines = [
        f"{origin}: {line}"
        for origin, error in zip(origins, refusals, strict=True)
        for line in (error.message, *error.details)
    ]
    raise ToolchainError("no pulumi can be had:", refusals[-1].fix, lines)


def _system(folder: Path) -> PulumiTools | None:
    try:
        return find_system_pulumi()
    except ToolchainError:
        return None


def _finished(origin: str) -> Callable[[Path], PulumiTools | None]:
    def find(folder: Path) -> PulumiTools | None:
        final = folder / f"pulumi-{origin}"
        return PulumiTools(final / "bin", final / "home", origin) if final.is_dir() else None

    return find


def _make_system(folder: Path, progress: Progress, also: tuple[Part, ...]) -> PulumiTools:
    return find_system_pulumi()


def _make_build(folder: Path, progress: Progress, also: tuple[Part, ...]) -> PulumiTools:
    build_parts((*also, *PULUMI_PARTS), folder, progress)
    binaries = {path.name: path for part in PULUMI_PARTS for path in (folder / part.folder / "bin").iterdir()}
    plugin = binaries.pop(PLUGIN)
    with hold(folder / "lock", "installing pulumi", progress):
        return _assemble(folder / "pulumi-build", binaries, plugin, progress)


def _make_download(folder: Path, progress: Progress, also: tuple[Part, ...]) -> PulumiTools:
    from trainform.toolchain import download  # only here: HTTP and tar are half of this room's import time

    return install_release(folder, progress, download.RELEASES)


def install_release(folder: Path, progress: Progress, releases: str) -> PulumiTools:
    """From the release archives under the address `releases`."""
    from trainform.toolchain.download import download_pulumi

    with hold(folder / "lock", "downloading pulumi", progress):
        remove_partials(folder)
        unpacked = partial_folder(folder / "archives")
        try:
            commands, plugin = download_pulumi(unpacked, progress, releases)
            binaries = {path.name: path for path in commands.iterdir() if path.is_file()}
            return _assemble(folder / "pulumi-download", binaries, plugin, progress)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)


def _assemble(final: Path, binaries: dict[str, Path], plugin: Path, progress: Progress) -> PulumiTools:
    """One folder with the commands beside each other, where they look for each other, and the plugin in a home of its own."""
    origin = final.name.removeprefix("pulumi-")
    if final.is_dir():  # another process may have made it while we waited
        return PulumiTools(final / "bin", final / "home", origin)
    with progress.step("installing pulumi and its kubernetes plugin"):
        partial = partial_folder(final)
        (partial / "bin").mkdir()
        for name, path in binaries.items():
            os.link(path, partial / "bin" / name)
        _check(partial / "bin")
        arguments = ["plugin", "install", "resource", "kubernetes", f"v{PLUGIN_VERSION}", "-f", str(plugin)]
        _pulumi(partial, arguments)
        for copy in partial.glob(f"home/plugins/*/{PLUGIN}"):
            copy.unlink()
            os.link(plugin, copy)  # 160 MB once instead of twice
        partial.rename(final)
    return PulumiTools(final / "bin", final / "home", origin)


def _check(commands: Path) -> None:
    answer = _pulumi(commands.parent, ["version"])
    if answer.strip() != f"v{PULUMI_VERSION}":
        raise ToolchainError(f"pulumi says it is {answer.strip()}, not v{PULUMI_VERSION}", "remove the cache folder")
    if not os.access(commands / HOST, os.X_OK):
        raise ToolchainError(f"{HOST} is missing beside pulumi", "remove the cache folder")


def _pulumi(folder: Path, arguments: list[str]) -> str:
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
    return answer.stdout


READY = {"system": _system, "download": _finished("download"), "build": _finished("build")}
MAKE = {"system": _make_system, "download": _make_download, "build": _make_build}
