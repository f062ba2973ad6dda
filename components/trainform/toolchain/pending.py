"""The parts that `ensure` would download or build, for a message before it begins."""

from __future__ import annotations

from msgspec import Struct

from trainform.progress import SILENT
from trainform.toolchain.build import missing_parts
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.ensure import control_plane_needs
from trainform.toolchain.needs import Need
from trainform.toolchain.origins import BUILD, DOWNLOAD, chosen_origins
from trainform.toolchain.oserrors import os_errors_as_toolchain_errors
from trainform.toolchain.parts import Part
from trainform.toolchain.pulumi import pulumi_need, ready_pulumi


class PendingWork(Struct, frozen=True):
    """`names`: the missing needs. `downloads`: True if some may be downloaded. `parts`: those to build if nothing is downloaded."""

    names: tuple[str, ...]
    downloads: bool
    parts: tuple[Part, ...]


@os_errors_as_toolchain_errors
def pending_work() -> PendingWork:
    """Return what is missing, without writing files and without requests to servers."""
    folder = toolchain_folder()
    needs = _missing_needs()
    builds = [part for need in needs if need.allows(BUILD) for part in need.parts]
    return PendingWork(
        tuple(need.name for need in needs),
        any(need.allows(DOWNLOAD) for need in needs),
        tuple(missing_parts(builds, folder)),
    )


def _missing_needs() -> list[Need]:
    folder, origins = toolchain_folder(), chosen_origins()
    needs = [need for need in control_plane_needs() if need.finished(folder) is None]
    return needs if ready_pulumi(origins, folder) is not None else [*needs, pulumi_need(origins, SILENT)]
