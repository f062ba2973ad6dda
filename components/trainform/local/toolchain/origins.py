"""The origins of the tool chain, which TRAINFORM_TOOLCHAIN selects: this machine, releases, a build."""

from __future__ import annotations

import os

from trainform.errors import InputError, Problem

MODE_VARIABLE = "TRAINFORM_TOOLCHAIN"
SYSTEM, DOWNLOAD, BUILD = "system", "download", "build"
ORIGINS = (SYSTEM, DOWNLOAD, BUILD)  # in this order
MODES = {"auto": ORIGINS, SYSTEM: (SYSTEM,), DOWNLOAD: (DOWNLOAD,), BUILD: (BUILD,)}


def chosen_origins() -> tuple[str, ...]:
    """Return the origins that TRAINFORM_TOOLCHAIN allows, in order. Raises `InputError` for an unknown mode."""
    mode = os.environ.get(MODE_VARIABLE, "auto")
    if mode not in MODES:
        fix = f"set it to one of {', '.join(MODES)}, or unset it"
        raise InputError([Problem(MODE_VARIABLE, mode, "is not a mode of the tool chain", fix)])
    return MODES[mode]


def part_origins() -> tuple[str, ...]:
    """Return the allowed origins of the control plane: for `system` all others, since machines do not have it."""
    found = tuple(origin for origin in chosen_origins() if origin != SYSTEM)
    return found if found else (DOWNLOAD, BUILD)
