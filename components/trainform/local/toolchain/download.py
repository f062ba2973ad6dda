"""Parallel downloads of official releases: first every server is asked for hashes, then all files are downloaded.

Complete files are kept until all are finished, so that after a killed run the next one downloads only the rest.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import TypeVar

from trainform.cluster.api import start_threads
from trainform.console.progress import Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import downloads_folder, partial_folder
from trainform.local.toolchain.parts import PINS
from trainform.local.toolchain.releases import Release
from trainform.local.toolchain.resolving import resolve_release
from trainform.local.toolchain.sources import Piece, Source, find_source
from trainform.local.toolchain.unpacking import extract
from trainform.local.toolchain.web import FIX, Web

POLL_SECONDS = 0.2
Item = TypeVar("Item")
Result = TypeVar("Result")


def download(
    releases: Mapping[str, Sequence[Release]],
    folder: Path,
    progress: Progress,
    pins: Path = PINS,
    web: Web | None = None,
) -> dict[str, Path | ToolchainError]:
    """Return a temporary folder with the files of each name, or the error. The caller has the lock of `folder`."""
    web = Web() if web is None else web

    def find(item: tuple[str, Release]) -> Source:
        return find_source(web, resolve_release(item[1], platform.system(), platform.machine(), pins))

    items = [(name, release) for name, own in releases.items() for release in own]
    with progress.step(f"looking up the releases of {', '.join(releases)}"):
        found = [(name, source) for (name, _), source in zip(items, run_in_parallel(find, items), strict=True)]
    errors = {name: source for name, source in found if isinstance(source, ToolchainError)}
    ready = [(name, source) for name, source in found if isinstance(source, Source) and name not in errors]
    return {**errors, **(_Batch(ready, folder, web).run(progress) if ready else {})}


class _Batch:
    """The downloads of one run."""

    def __init__(self, sources: Sequence[tuple[str, Source]], folder: Path, web: Web) -> None:
        self._web = web
        self._lock = threading.Lock()
        self._bytes = 0  # of all downloads, with those that an earlier run downloaded
        self._downloads = downloads_folder(folder)
        self._downloads.mkdir(parents=True, exist_ok=True)
        self._partial = partial_folder(self._downloads)
        self._targets = {name: partial_folder(folder / f"{name}-unpacked") for name in dict(sources)}
        self._sources = sources

    def run(self, progress: Progress) -> dict[str, Path | ToolchainError]:
        def show() -> None:
            step.update(f"downloading: {round(self._bytes / 1e6)} MB")

        with progress.step(f"downloading {len(self._sources)} files, in parallel") as step:
            outcomes = run_in_parallel(self._fetch, self._sources, show)
        shutil.rmtree(self._partial, ignore_errors=True)
        found: dict[str, Path | ToolchainError] = dict(self._targets)
        for (name, _), outcome in zip(self._sources, outcomes, strict=True):
            if isinstance(outcome, ToolchainError):
                shutil.rmtree(self._targets[name], ignore_errors=True)
                found[name] = outcome
        return found

    def _fetch(self, item: tuple[str, Source]) -> None:
        name, source = item
        missing = {pattern for pattern, _ in source.release.wanted_files}
        for piece in source.pieces:
            file = self._download(piece)
            try:
                missing = extract(source.release, file, self._targets[name])
            except ToolchainError:
                file.unlink(missing_ok=True)  # otherwise every later run would use it and fail
                raise
            if not missing:
                return
        raise ToolchainError(f"{source.release.url} does not contain {', '.join(sorted(missing))}", FIX)

    def _download(self, piece: Piece) -> Path:
        """Return the path of the complete file. Raises `ToolchainError` if the hash is not the published one."""
        final = self._downloads / piece.key
        if final.is_file() and piece.sha256 in (None, _sha256_of(final)):
            self._count(final.stat().st_size)
            return final
        partial = self._partial / f"{piece.key}.{threading.get_ident()}"  # two images may share a layer
        sha256 = self._web.save(piece.url, partial, self._count)
        if piece.sha256 not in (None, sha256):
            raise ToolchainError(f"{piece.url} has the SHA-256 {sha256}, and {piece.sha256} is published", FIX)
        partial.rename(final)
        return final

    def _count(self, number: int) -> None:
        with self._lock:
            self._bytes += number


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run_in_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], watch: Callable[[], None] = lambda: None
) -> list[Result | ToolchainError]:
    """Return the result or the `ToolchainError` of each item, in order; raise other errors.

    `watch` is called repeatedly until all are done. The threads are daemons, so an interrupt ends the process at once.
    """
    futures = start_threads(work, items, len(items))
    while wait(futures, POLL_SECONDS).not_done:
        watch()
    errors = [future.exception() for future in futures]
    return [
        error if isinstance(error, ToolchainError) else future.result()
        for future, error in zip(futures, errors, strict=True)
    ]
