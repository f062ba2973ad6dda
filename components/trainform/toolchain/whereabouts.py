"""Where the tool chain is, as far as it is there, and how it came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainform.toolchain.addons import ADDON_PARTS, addon_folder, addon_need
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.ensure import control_plane_needs
from trainform.toolchain.needs import Need
from trainform.toolchain.origins import chosen_origins
from trainform.toolchain.oserrors import toolchain_edge
from trainform.toolchain.pulumi import ready_pulumi
from trainform.toolchain.receipts import how_it_came

MISSING = "not there yet; `trainform toolchain ensure` gets it"
ADDON_MISSING = "not there yet; `trainform sandbox up --with ADD-ON` gets it for those who want it"


@toolchain_edge
def whereabouts() -> list[tuple[str, str]]:
    """Name and place of everything; nothing is made."""
    return list(_places())


def _places() -> Iterator[tuple[str, str]]:
    folder = toolchain_folder()
    yield "cache", str(folder)
    tools = ready_pulumi(chosen_origins(), folder)
    yield (
        "pulumi",
        MISSING if tools is None else f"{tools.bin / 'pulumi'} ({how_it_came(tools.origin, tools.bin.parent)})",
    )
    yield "PULUMI_HOME", MISSING if tools is None else str(tools.home)
    for need in control_plane_needs():
        yield from _programs(need, folder, MISSING)
    for part in ADDON_PARTS:
        yield from _programs(addon_need(part), addon_folder(part), ADDON_MISSING)


def _programs(need: Need, folder: Path, missing: str) -> Iterator[tuple[str, str]]:
    found = need.finished(folder)
    for name in need.parts[0].binaries:
        yield name, missing if found is None else f"{found[1] / 'bin' / name} ({how_it_came(*found)})"
