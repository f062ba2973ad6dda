"""Pulumi with its Python host and the kubernetes plugin: this machine's, or one in the cache."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from trainform.console.progress import Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import partial_folder
from trainform.local.toolchain.needs import Need
from trainform.local.toolchain.origins import SYSTEM
from trainform.local.toolchain.parts import PULUMI_PARTS
from trainform.local.toolchain.releases import PLUGIN_FOLDER, RELEASES
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
    return Need(NAME, PULUMI_PARTS, RELEASES[NAME], others, unusable, _assemble)


def _assemble(folder: Path, final: Path) -> None:
    """Make a folder as the releases have it: all commands in one `bin`, where they look for each other."""
    partial = partial_folder(final)
    for target in ("bin", PLUGIN_FOLDER):
        (partial / target).mkdir(parents=True)
    for path in (path for part in PULUMI_PARTS for path in (folder / part.folder / "bin").iterdir()):
        os.link(path, partial / (PLUGIN_FOLDER if path.name == PLUGIN else "bin") / path.name)
    partial.rename(final)
