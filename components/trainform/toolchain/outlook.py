"""What `ensure` would still have to get, told before it begins."""

from __future__ import annotations

import dataclasses

from trainform.progress import SILENT
from trainform.toolchain.build import missing_parts
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.ensure import control_plane_needs
from trainform.toolchain.needs import Need
from trainform.toolchain.origins import BUILD, DOWNLOAD, chosen_origins
from trainform.toolchain.oserrors import toolchain_edge
from trainform.toolchain.parts import Part
from trainform.toolchain.pulumi import pulumi_need, ready_pulumi


@dataclasses.dataclass(frozen=True)
class Outlook:
    """The names of what is missing; whether it may be downloaded; the parts that are to be built where it is not."""

    names: tuple[str, ...]
    downloads: bool
    parts: tuple[Part, ...]


@toolchain_edge
def look_ahead() -> Outlook:
    """Nothing is made, and no server is asked."""
    folder = toolchain_folder()
    needs = _missing_needs()
    builds = [part for need in needs if need.allows(BUILD) for part in need.parts]
    return Outlook(
        tuple(need.name for need in needs),
        any(need.allows(DOWNLOAD) for need in needs),
        tuple(missing_parts(builds, folder)),
    )


def _missing_needs() -> list[Need]:
    folder, origins = toolchain_folder(), chosen_origins()
    needs = [need for need in control_plane_needs() if need.finished(folder) is None]
    return needs if ready_pulumi(origins, folder) is not None else [*needs, pulumi_need(origins, SILENT)]
