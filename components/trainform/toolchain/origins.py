"""Where the tool chain may come from: this machine, official releases, the pins; and what TRAINFORM_TOOLCHAIN allows of it."""

from __future__ import annotations

import os

from trainform.errors import InputError, Problem

MODE_VARIABLE = "TRAINFORM_TOOLCHAIN"
SYSTEM, DOWNLOAD, BUILD = "system", "download", "build"
ORIGINS = (SYSTEM, DOWNLOAD, BUILD)  # in this order
MODES = {"auto": ORIGINS, SYSTEM: (SYSTEM,), DOWNLOAD: (DOWNLOAD,), BUILD: (BUILD,)}


def chosen_origins() -> tuple[str, ...]:
    """The origins that TRAINFORM_TOOLCHAIN allows, in order."""
    mode = os.environ.get(MODE_VARIABLE, "auto")
    if mode not in MODES:
        fix = f"set it to one of {', '.join(MODES)}, or unset it"
        raise InputError([Problem(MODE_VARIABLE, mode, "is not a way to get the tool chain", fix)])
    return MODES[mode]


def origins_of_parts() -> tuple[str, ...]:
    """The same for what no system has at exactly these versions, the control plane: `system` leaves both other ways to it."""
    found = tuple(origin for origin in chosen_origins() if origin != SYSTEM)
    return found if found else (DOWNLOAD, BUILD)
