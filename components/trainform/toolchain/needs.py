"""Needs (Pulumi, a part) and how they are provided: a finished one is used, else it is downloaded if allowed and
possible, else built."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from trainform.errors import ToolchainError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.toolchain.build import build_parts
from trainform.toolchain.cache import downloads_folder, remove_partials
from trainform.toolchain.origins import BUILD, DOWNLOAD, ORIGINS
from trainform.toolchain.parts import PINS, Part
from trainform.toolchain.releases import Release

Installer = Callable[[Path, Path, Progress], None]


def _rename(unpacked: Path, final: Path, progress: Progress) -> None:
    unpacked.rename(final)


def _nothing_to_do(folder: Path, final: Path, progress: Progress) -> None:
    """A part that is built needs no further step."""


class Need(Struct, frozen=True):
    """Pulumi, or a part of the control plane or of an add-on, which must be provided.

    `origins`: the allowed origins that exist for it. `refused`: the origins that failed, each with its error. `install`
    makes the finished folder from unpacked downloads, `assemble` from built parts.
    """

    name: str
    parts: tuple[Part, ...]
    releases: tuple[Release, ...]
    origins: tuple[str, ...]
    built: str  # the finished folder's name
    refused: tuple[tuple[str, ToolchainError], ...] = ()
    install: Installer = _rename
    assemble: Installer = _nothing_to_do

    def allows(self, origin: str) -> bool:
        """True if an origin is allowed and has not failed before."""
        return origin in self.origins and origin not in dict(self.refused)

    def place(self, folder: Path, origin: str) -> Path:
        """Return the finished folder for an origin."""
        return folder / (self.built if origin == BUILD else f"{self.name}-{origin}")

    def finished(self, folder: Path) -> tuple[str, Path] | None:
        """Return origin and folder of the first allowed origin that is finished, None if there is none."""
        places = [(origin, self.place(folder, origin)) for origin in self.origins]
        return next(((origin, place) for origin, place in places if place.is_dir()), None)


def part_need(part: Part, releases: Sequence[Release], origins: Sequence[str]) -> Need:
    """Return the need for a part. A part without releases is built, whatever origins are allowed."""
    return Need(part.folder, (part,), tuple(releases), tuple(origins) if releases else (BUILD,), built=part.folder)


def provide(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path = PINS) -> None:
    """Download or build all needs that are missing. Raises `ToolchainError` with the reason of every origin that
    failed."""
    missing = [need for need in needs if need.finished(folder) is None]
    for need in missing:
        if not need.origins:
            raise _unavailable([need])  # before the others are downloaded or built, which takes minutes
    missing = try_downloads(missing, folder, progress, pins)
    missing = _try_build(missing, folder, progress, pins)
    if missing:
        raise _unavailable(missing)


def try_downloads(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path = PINS) -> list[Need]:
    """Download all needs for which that is allowed. Return the needs that are still missing, with the errors."""
    wanted = [need for need in needs if need.allows(DOWNLOAD)]
    if not wanted:
        return list(needs)
    # Imported here only: HTTP, TLS and tar take longer to import than this whole package.
    from trainform.toolchain.download import download

    with hold(folder / "lock", "downloading the tool chain", progress):
        remove_partials(folder)
        wanted = [need for need in wanted if need.finished(folder) is None]  # another process may have downloaded them
        outcomes = download({need.name: need.releases for need in wanted}, folder, progress, pins) if wanted else {}
        results = {need: _install(need, outcomes[need.name], folder, progress) for need in wanted}
        remove_partials(folder)
        errors = {need.name: error for need, error in results.items() if error is not None}
        building = all(need.allows(BUILD) for need in wanted if need.name in errors)
        if building:  # or nothing is missing: then no later run needs these files
            shutil.rmtree(downloads_folder(folder), ignore_errors=True)
    if errors:
        reasons = ", ".join(f"{name} ({' '.join((error.message, *error.details))})" for name, error in errors.items())
        progress.note(f"built instead of downloaded: {reasons}" if building else f"not downloaded: {reasons}")
    return [_refuse(need, DOWNLOAD, errors) for need in needs if need.finished(folder) is None]


def _install(need: Need, outcome: Path | ToolchainError, folder: Path, progress: Progress) -> ToolchainError | None:
    if isinstance(outcome, ToolchainError):
        return outcome
    try:
        need.install(outcome, need.place(folder, DOWNLOAD), progress)
    except ToolchainError as error:
        return error
    progress.note(f"{need.name}: downloaded, hashes verified")
    return None


def _try_build(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path) -> list[Need]:
    wanted = [need for need in needs if need.allows(BUILD)]
    errors: dict[str, ToolchainError] = {}
    try:
        # In one call, so that the shown time is the time for all of them.
        build_parts([part for need in wanted for part in need.parts], folder, progress, pins)
        for need in wanted:
            need.assemble(folder, need.place(folder, BUILD), progress)
    except ToolchainError as error:
        errors = {need.name: error for need in wanted}
    return [_refuse(need, BUILD, errors) for need in needs if need.finished(folder) is None]


def _refuse(need: Need, origin: str, errors: dict[str, ToolchainError]) -> Need:
    error = errors.get(need.name)
    return need if error is None else structs.replace(need, refused=(*need.refused, (origin, error)))


def _unavailable(needs: Sequence[Need]) -> ToolchainError:
    names: dict[tuple[str, ToolchainError], list[str]] = {}
    for need in needs:
        for refusal in need.refused:
            names.setdefault(refusal, []).append(need.name)
    if len(names) == 1:
        return next(error for _, error in names)
    refusals = sorted(names, key=lambda refusal: ORIGINS.index(refusal[0]))
    lines = [
        f"{origin} of {', '.join(names[origin, error])}: {line}" if len(needs) > 1 else f"{origin}: {line}"
        for origin, error in refusals
        for line in (error.message, *error.details)
    ]
    title = f"not available: {', '.join(need.name for need in needs)}"
    return ToolchainError(title, refusals[-1][1].fix, lines)
