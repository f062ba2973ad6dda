"""Needs (Pulumi, a part) and their provision: a finished one is used, else downloaded if possible, else built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import InputError, Problem, ToolchainError
from trainform.local.toolchain.build import build_parts
from trainform.local.toolchain.cache import downloads_folder, remove_partials
from trainform.local.toolchain.parts import PINS, Part
from trainform.local.toolchain.releases import RELEASES, Release

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


Refused = dict[str, Mapping[str, ToolchainError]]  # origin -> name of a need -> error


class Need(Struct, frozen=True):
    """Pulumi, or a part of the control plane or of an add-on, which must be provided."""

    name: str
    parts: tuple[Part, ...]
    releases: tuple[Release, ...]
    origins: tuple[str, ...]  # the allowed ones that exist for it, except for the system
    unusable: ToolchainError | None = None  # why that of the system cannot be used, where it is allowed
    assemble: Callable[[Path, Path], object] | None = None  # makes the finished folder from several built parts

    def place(self, folder: Path, origin: str) -> Path:
        """Return the finished folder for an origin."""
        single = origin == BUILD and self.assemble is None  # `build_parts` has finished it
        return folder / (self.name if single else f"{self.name}-{origin}")

    def finished(self, folder: Path) -> tuple[str, Path] | None:
        """Return origin and folder of the first allowed origin that is finished, None if there is none."""
        places = [(origin, self.place(folder, origin)) for origin in self.origins]
        return next(((origin, place) for origin, place in places if place.is_dir()), None)


def part_need(part: Part) -> Need:
    """Return the need for a part. A part without releases is built, whatever origins are allowed."""
    releases = RELEASES.get(part.folder, ())
    return Need(part.folder, (part,), releases, part_origins() if releases else (BUILD,))


def provide(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path = PINS) -> None:
    """Download or build all missing needs. `ToolchainError` with the reason of every origin that failed."""
    missing = [need for need in needs if need.finished(folder) is None]
    refused: Refused = {SYSTEM: {need.name: need.unusable for need in missing if need.unusable is not None}}
    without = [need for need in missing if not need.origins]
    if without:
        raise _unavailable(without, refused)  # before the others are downloaded or built, which takes minutes
    for origin, attempt in ((DOWNLOAD, _download), (BUILD, _build)):
        allowed = [need for need in missing if origin in need.origins]
        refused[origin] = attempt(allowed, folder, progress, pins) if allowed else {}
        missing = [need for need in missing if need.finished(folder) is None]
    if missing:
        raise _unavailable(missing, refused)


def _download(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path) -> dict[str, ToolchainError]:
    """Download the needs, and return an error for each that failed."""
    # Imported here only: HTTP, TLS and tar take longer to import than this whole package.
    from trainform.local.toolchain.download import download

    with hold(folder / "lock", "downloading the tool chain", progress):
        remove_partials(folder)
        needed = [need for need in needs if need.finished(folder) is None]  # another process may have downloaded them
        outcomes = download({need.name: need.releases for need in needed}, folder, progress, pins) if needed else {}
        errors: dict[str, ToolchainError] = {}
        for need in needed:
            outcome = outcomes[need.name]
            if isinstance(outcome, ToolchainError):
                errors[need.name] = outcome
            else:
                outcome.rename(need.place(folder, DOWNLOAD))
                progress.note(f"{need.name}: downloaded, hashes verified")
        remove_partials(folder)
        building = all(BUILD in need.origins for need in needed if need.name in errors)
        if building:  # or nothing is missing: then no later run needs these files
            shutil.rmtree(downloads_folder(folder), ignore_errors=True)
    if errors:
        reasons = ", ".join(f"{name} ({' '.join((error.message, *error.details))})" for name, error in errors.items())
        progress.note(f"built instead of downloaded: {reasons}" if building else f"not downloaded: {reasons}")
    return errors


def _build(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path) -> dict[str, ToolchainError]:
    """Build the needs, and return the error of each if that fails."""
    try:
        # In one call, so that the shown time is the time for all of them.
        build_parts([part for need in needs for part in need.parts], folder, progress, pins)
        with hold(folder / "lock", "installing the tool chain", progress):
            for need in needs:
                if need.assemble is not None and need.finished(folder) is None:
                    need.assemble(folder, need.place(folder, BUILD))
    except ToolchainError as error:
        return {need.name: error for need in needs}
    return {}


def _unavailable(needs: Sequence[Need], refused: Refused) -> ToolchainError:
    names: dict[tuple[str, ToolchainError], list[str]] = {}
    for origin, errors in refused.items():
        for need in needs:
            if need.name in errors:
                names.setdefault((origin, errors[need.name]), []).append(need.name)
    if len(names) == 1:
        return next(error for _, error in names)
    lines = [
        f"{origin} of {', '.join(found)}: {line}" if len(needs) > 1 else f"{origin}: {line}"
        for (origin, error), found in names.items()
        for line in (error.message, *error.details)
    ]
    title = f"not available: {', '.join(need.name for need in needs)}"
    return ToolchainError(title, [*names][-1][1].fix, lines)
