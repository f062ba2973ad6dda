"""The paths of the tool chain's programs, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainform.toolchain.addons import ADDON_PARTS, addon_folder, addon_need
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.ensure import control_plane_needs
from trainform.toolchain.needs import Need
from trainform.toolchain.origins import DESCRIPTIONS, chosen_origins
from trainform.toolchain.oserrors import os_errors_as_toolchain_errors
from trainform.toolchain.pulumi import ready_pulumi

MISSING = "not installed yet; run `trainform toolchain ensure`"
ADDON_MISSING = "not installed yet; run `trainform sandbox up --with ADD-ON` if you want this add-on"


@os_errors_as_toolchain_errors
def locations() -> list[tuple[str, str]]:
    """Return name and path of all programs, without installing anything."""
    return list(_places())


def _places() -> Iterator[tuple[str, str]]:
    folder = toolchain_folder()
    yield "cache", str(folder)
    tools = ready_pulumi(chosen_origins(), folder)
    yield (
        "pulumi",
        MISSING if tools is None else f"{tools.bin / 'pulumi'} ({DESCRIPTIONS[tools.origin]})",
    )
    yield "PULUMI_HOME", MISSING if tools is None else str(tools.home)
    for need in control_plane_needs():
        yield from _programs(need, folder, MISSING)
    for part in ADDON_PARTS:
        yield from _programs(addon_need(part), addon_folder(part), ADDON_MISSING)


def _programs(need: Need, folder: Path, missing: str) -> Iterator[tuple[str, str]]:
    found = need.finished(folder)
    for name in need.parts[0].binaries:
        yield name, missing if found is None else f"{found[1] / 'bin' / name} ({DESCRIPTIONS[found[0]]})"
