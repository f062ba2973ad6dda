"""Where the tool chain is, as far as it is there."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.toolchain.addons import ADDON_PARTS, addon_folder
from trainform.toolchain.build import missing_parts
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.oserrors import toolchain_edge
from trainform.toolchain.parts import CONTROL_PLANE_PARTS
from trainform.toolchain.pulumi import chosen_origins, ready_pulumi

MISSING = "not there yet; `trainform toolchain ensure` makes it"
ADDON_MISSING = "not there yet; `trainform sandbox up --with ADD-ON` makes it for those who want it"


@toolchain_edge
def whereabouts() -> list[tuple[str, str]]:
    """Name and place of everything; nothing is made."""
    return list(_places())


def _places() -> Iterator[tuple[str, str]]:
    folder = toolchain_folder()
    yield "cache", str(folder)
    tools = ready_pulumi(chosen_origins(), folder)
    yield "pulumi", MISSING if tools is None else f"{tools.bin / 'pulumi'} ({tools.origin})"
    yield "PULUMI_HOME", MISSING if tools is None else str(tools.home)
    missing = {part.folder for part in missing_parts(CONTROL_PLANE_PARTS, folder)}
    for part in CONTROL_PLANE_PARTS:
        for name in part.binaries:
            yield name, MISSING if part.folder in missing else str(folder / part.folder / "bin" / name)
    for part in ADDON_PARTS:
        place = addon_folder(part)
        for name in part.binaries:
            yield name, ADDON_MISSING if missing_parts([part], place) else str(place / part.folder / "bin" / name)
