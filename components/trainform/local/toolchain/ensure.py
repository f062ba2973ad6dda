"""The whole tool chain, and the environment variables to use it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from trainform.console.progress import SILENT, Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.build import missing_parts
from trainform.local.toolchain.cache import os_errors_as_toolchain_errors, partial_folder, toolchain_folder
from trainform.local.toolchain.golang import COLLECT_AT
from trainform.local.toolchain.needs import BUILD, DOWNLOAD, SYSTEM, Need, chosen_origins, part_need, provide
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS, PINS, PULUMI_PARTS, Part
from trainform.local.toolchain.releases import PLUGIN_FOLDER, RELEASES
from trainform.local.toolchain.system import PLUGIN, find_system_pulumi
from trainform.local.toolchain.tools import ControlPlane, PulumiTools, Toolchain

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
    return Need(NAME, PULUMI_PARTS, RELEASES[NAME], others, unusable, _assemble)


def _assemble(folder: Path, final: Path) -> None:
    """Make a folder as the releases have it: all commands in one `bin`, where they look for each other."""
    partial = partial_folder(final)
    for target in ("bin", PLUGIN_FOLDER):
        (partial / target).mkdir(parents=True)
    for path in (path for part in PULUMI_PARTS for path in (folder / part.folder / "bin").iterdir()):
        os.link(path, partial / (PLUGIN_FOLDER if path.name == PLUGIN else "bin") / path.name)
    partial.rename(final)


@os_errors_as_toolchain_errors
def ensure(progress: Progress = SILENT, pins: Path = PINS) -> Toolchain:
    """Download or build what is missing, and return the whole tool chain. Raises `ToolchainError`.

    If nothing is missing, this takes a few milliseconds, or the time of `pulumi version`.
    """
    needs, folder = control_plane_needs(), toolchain_folder(pins)
    tools = _pulumi(progress, needs, pins)
    places = {need.name: found[1] for need in needs if (found := need.finished(folder)) is not None}
    binaries = {name: places[part.folder] / "bin" / name for part in CONTROL_PLANE_PARTS for name in part.binaries}
    crds, stages = places["controlplane"].glob("crds/*.yaml"), places["kwok"].glob("stages/*.yaml")
    return Toolchain(tools, ControlPlane(binaries, tuple(sorted(crds)), tuple(sorted(stages))))


@os_errors_as_toolchain_errors
def ensure_pulumi(progress: Progress = SILENT, pins: Path = PINS) -> PulumiTools:
    """Download or build Pulumi if it is missing, and return it. A user with a cluster needs no other program."""
    return _pulumi(progress, [], pins)


def control_plane_needs() -> list[Need]:
    """Return a need for each part of the control plane."""
    return [part_need(part) for part in CONTROL_PLANE_PARTS]


def _pulumi(progress: Progress, also: list[Need], pins: Path) -> PulumiTools:
    """Provide Pulumi and the other needs together: parallel downloads, and one build time for all."""
    origins, folder = chosen_origins(), toolchain_folder(pins)
    ready = ready_pulumi(origins, folder)
    needs = [*also, pulumi_need(origins, progress)] if ready is None else also
    provide(needs, folder, progress, pins)
    tools = ready_pulumi(origins, folder) if ready is None else ready
    if tools is None:
        raise RuntimeError("pulumi was provided, but it does not exist")
    return tools


def environment(tools: PulumiTools) -> dict[str, str]:
    """Return the environment variables with which `pulumi` and its child processes use these tools, and no others."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("pulumi", path=path) != str(tools.bin / "pulumi"):
        path = f"{tools.bin}{os.pathsep}{path}"
    return {
        "PATH": path,
        "PULUMI_HOME": str(tools.home),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "GOGC": os.environ.get("GOGC", COLLECT_AT),
    }


class PendingWork(Struct, frozen=True):
    """The missing parts of the tool chain."""

    names: tuple[str, ...]
    downloads: bool  # True if some may be downloaded
    parts: tuple[Part, ...]  # those to build if nothing is downloaded


@os_errors_as_toolchain_errors
def pending_work() -> PendingWork:
    """Return what is missing, without writing files and without requests to servers."""
    folder, origins = toolchain_folder(), chosen_origins()
    needs = [need for need in control_plane_needs() if need.finished(folder) is None]
    if ready_pulumi(origins, folder) is None:
        needs.append(pulumi_need(origins, SILENT))
    builds = [part for need in needs if BUILD in need.origins for part in need.parts]
    return PendingWork(
        tuple(need.name for need in needs),
        any(DOWNLOAD in need.origins for need in needs),
        tuple(missing_parts(builds, folder)),
    )
