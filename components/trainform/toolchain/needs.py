"""What is handed out and how it is got: downloaded if that is allowed and possible, else built; what is finished is used as it is."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

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


def _nothing(folder: Path, final: Path, progress: Progress) -> None:
    """A part is finished when it is built."""


@dataclasses.dataclass(frozen=True)
class Need:
    """Pulumi, or a part of the control plane or of an add-on.

    `origins`: those that are allowed and exist for it. `refused`: the origins that were tried before, and why they gave nothing.
    `install` makes the finished folder of what was unpacked, `assemble` of what was built into the folder around it.
    """

    name: str
    parts: tuple[Part, ...]
    releases: tuple[Release, ...]
    origins: tuple[str, ...]
    built: str  # the finished folder's name
    refused: tuple[tuple[str, ToolchainError], ...] = ()
    install: Installer = _rename
    assemble: Installer = _nothing

    def allows(self, origin: str) -> bool:
        """Whether it is worth trying: an origin that gave nothing is not asked again."""
        return origin in self.origins and origin not in dict(self.refused)

    def place(self, folder: Path, origin: str) -> Path:
        """Where it is when it is finished."""
        return folder / (self.built if origin == BUILD else f"{self.name}-{origin}")

    def finished(self, folder: Path) -> tuple[str, Path] | None:
        """Its origin and its folder, the allowed origins in order."""
        places = [(origin, self.place(folder, origin)) for origin in self.origins]
        return next(((origin, place) for origin, place in places if place.is_dir()), None)


def part_need(part: Part, releases: Sequence[Release], origins: Sequence[str]) -> Need:
    """A part; one without releases is built, whatever is allowed for others."""
    return Need(part.folder, (part,), tuple(releases), tuple(origins) if releases else (BUILD,), built=part.folder)


def provide(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path = PINS) -> None:
    """Make sure of all of them. `ToolchainError` says of every origin why it gave nothing."""
    missing = [need for need in needs if need.finished(folder) is None]
    for need in missing:
        if not need.origins:
            raise _unavailable([need])  # before the others take their minutes
    missing = try_downloads(missing, folder, progress, pins)
    missing = _try_build(missing, folder, progress, pins)
    if missing:
        raise _unavailable(missing)


def try_downloads(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path = PINS) -> list[Need]:
    """Download together those for which that is allowed. Returns the needs that are still missing, with the reasons."""
    wanted = [need for need in needs if need.allows(DOWNLOAD)]
    if not wanted:
        return list(needs)
    # Only here: HTTP, TLS and tar take longer to import than all of this room.
    from trainform.toolchain.download import download

    with hold(folder / "lock", "downloading the tool chain", progress):
        remove_partials(folder)
        wanted = [need for need in wanted if need.finished(folder) is None]  # another process may have them by now
        outcomes = download({need.name: need.releases for need in wanted}, folder, progress, pins) if wanted else {}
        results = {need: _install(need, outcomes[need.name], folder, progress) for need in wanted}
        remove_partials(folder)
        errors = {need.name: error for need, error in results.items() if error is not None}
        building = all(need.allows(BUILD) for need in wanted if need.name in errors)
        if building:  # or nothing is missing: no later run goes on with these files
            shutil.rmtree(downloads_folder(folder), ignore_errors=True)
    if errors:
        reasons = ", ".join(f"{name} ({' '.join((error.message, *error.details))})" for name, error in errors.items())
        progress.note(f"not downloaded, but built: {reasons}" if building else f"not downloaded: {reasons}")
    return [_refuse(need, DOWNLOAD, errors) for need in needs if need.finished(folder) is None]


def _install(need: Need, outcome: Path | ToolchainError, folder: Path, progress: Progress) -> ToolchainError | None:
    if isinstance(outcome, ToolchainError):
        return outcome
    from trainform.toolchain.receipts import how_it_came

    place = need.place(folder, DOWNLOAD)
    try:
        need.install(outcome, place, progress)
    except ToolchainError as error:
        return error
    progress.note(f"{need.name}: {how_it_came(DOWNLOAD, place)}")
    return None


def _try_build(needs: Sequence[Need], folder: Path, progress: Progress, pins: Path) -> list[Need]:
    wanted = [need for need in needs if need.allows(BUILD)]
    errors: dict[str, ToolchainError] = {}
    try:
        # In one go, so that the time that is told is the whole time.
        build_parts([part for need in wanted for part in need.parts], folder, progress, pins)
        for need in wanted:
            need.assemble(folder, need.place(folder, BUILD), progress)
    except ToolchainError as error:
        errors = {need.name: error for need in wanted}
    return [_refuse(need, BUILD, errors) for need in needs if need.finished(folder) is None]


def _refuse(need: Need, origin: str, errors: dict[str, ToolchainError]) -> Need:
    error = errors.get(need.name)
    return need if error is None else dataclasses.replace(need, refused=(*need.refused, (origin, error)))


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
    title = f"no {', '.join(need.name for need in needs)} can be had:"
    return ToolchainError(title, refusals[-1][1].fix, lines)
