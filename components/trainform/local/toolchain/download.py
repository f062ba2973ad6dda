"""Parallel downloads of official releases: first every server is asked for hashes, then all files are downloaded.

Complete files are kept until all are finished, so that after a killed run the next one downloads only the rest.
"""

from __future__ import annotations

import base64
import fnmatch
import gzip
import hashlib
import platform
import shutil
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import IO, TypeVar

from trainform.cluster.api import start_threads
from trainform.console.progress import Progress
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import downloads_folder, partial_folder
from trainform.local.toolchain.parts import PINS
from trainform.local.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE, Release
from trainform.local.toolchain.resolving import ResolvedRelease, resolve_release
from trainform.local.toolchain.sources import Piece, Source, find_source
from trainform.local.toolchain.web import FIX, Web

CHUNK = 1 << 20
PROGRAM, TEXT = 0o755, 0o644
# The errors of tar, zlib, gzip and zip for a file that is incomplete, was changed or is not an archive.
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, ValueError)


def extract(release: ResolvedRelease, downloaded: Path, folder: Path) -> set[str]:
    """Extract files into `folder`, and return the patterns without a file. `ToolchainError` for damage."""
    try:
        missing = {pattern for pattern, _ in release.wanted_files}
        return missing - _EXTRACT[release.kind](release, downloaded, folder)
    except _BROKEN as error:
        raise ToolchainError(f"{release.url} is damaged: {error}") from error


def _extract_file(release: ResolvedRelease, downloaded: Path, folder: Path) -> set[str]:
    [(pattern, target)] = release.wanted_files
    with downloaded.open("rb") as file:
        _write(file, folder, target, release.name, PROGRAM)
    return {pattern}


def _extract_tar(release: ResolvedRelease, downloaded: Path, folder: Path) -> set[str]:
    """Extract from an archive, or from a layer of an image."""
    found = set()
    with gzip.open(downloaded) as stream:
        with tarfile.open(fileobj=stream, mode="r:") as content:
            for member in content:
                for pattern, target in release.wanted_files:
                    file = content.extractfile(member) if member.isfile() and _matches(member.name, pattern) else None
                    if file is not None:
                        _write(file, folder, target, member.name, PROGRAM)
                        found.add(pattern)
        # tar stops at its end mark; gzip's checksum comes after that, and is checked only if it is read.
        while stream.read(CHUNK):
            pass
    return found


def _extract_module(release: ResolvedRelease, downloaded: Path, folder: Path) -> set[str]:
    extracted = set()
    with zipfile.ZipFile(downloaded) as archive:
        found = module_hash(archive)
        if found != release.module_hash:
            raise ToolchainError(f"{release.url} has the hash {found}, but the pins say {release.module_hash}")
        for name in archive.namelist():
            _, _, path = name.partition(f"@v{release.version}/")
            for pattern, target in release.wanted_files:
                if _matches(path, pattern):
                    with archive.open(name) as file:
                        _write(file, folder, target, name, TEXT)
                    extracted.add(pattern)
    return extracted


def module_hash(archive: zipfile.ZipFile) -> str:
    """Return the `h1:` hash (as in go.sum) of a module in a Go proxy's archive: of its files' names and hashes."""
    rows = hashlib.sha256()
    for name in sorted(archive.namelist(), key=str.encode):
        with archive.open(name) as file:
            digest = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]
        rows.update(f"{digest.hexdigest()}  {name}\n".encode())
    return f"h1:{base64.b64encode(rows.digest()).decode()}"


def _matches(path: str, pattern: str) -> bool:
    """Return True if the path matches; as with `Path.glob`, a star does not match a slash."""
    parts, patterns = [part for part in path.split("/") if part not in ("", ".")], pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _write(source: IO[bytes], folder: Path, target: str, name: str, mode: int) -> None:
    path = folder / (target + name.rpartition("/")[2] if target.endswith("/") else target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
    path.chmod(mode)


_EXTRACT: Mapping[str, Callable[[ResolvedRelease, Path, Path], set[str]]] = {
    FILE: _extract_file,
    ARCHIVE: _extract_tar,
    IMAGE: _extract_tar,
    MODULE: _extract_module,
}


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
