"""Extraction of the wanted files from a download: one function for each kind of release."""

from __future__ import annotations

import fnmatch
import gzip
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from trainform.errors import ToolchainError
from trainform.toolchain.checksums import module_hash
from trainform.toolchain.images import FOUND, REMOVED, normalized, search_layer
from trainform.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE
from trainform.toolchain.resolving import ResolvedRelease

CHUNK = 1 << 20
PROGRAM, TEXT = 0o755, 0o644
# The errors of tar, zlib, gzip and zip for a file that is incomplete, was changed or is not an archive.
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, ValueError)


def extract(release: ResolvedRelease, downloaded: Path, folder: Path) -> bool:
    """Extract the wanted files into `folder`. False if the file is not in this layer of an image and may be in the next one.

    Raises `ToolchainError` if the download is damaged or does not contain the files.
    """
    try:
        return _EXTRACT[release.kind](release, downloaded, folder)
    except _BROKEN as error:
        raise ToolchainError(f"{release.url} is damaged: {error}") from error


def _extract_file(release: ResolvedRelease, downloaded: Path, folder: Path) -> bool:
    with downloaded.open("rb") as file:
        [(_, target)] = release.wanted_files
        _write(file, folder, target, release.name, PROGRAM)
    return True


def _extract_archive(release: ResolvedRelease, downloaded: Path, folder: Path) -> bool:
    wanted = {pattern for pattern, _ in release.wanted_files}
    with gzip.open(downloaded) as stream:
        with tarfile.open(fileobj=stream, mode="r:") as content:
            for member in content:
                for pattern, target in release.wanted_files:
                    if member.isfile() and _matches(normalized(member.name), pattern):
                        _write(_opened(content, member), folder, target, member.name, PROGRAM)
                        wanted.discard(pattern)
        # tar stops at its end mark; gzip's checksum comes after that, and is checked only if it is read.
        while stream.read(CHUNK):
            pass
    _check_all_found(release, wanted)
    return True


def _extract_layer(release: ResolvedRelease, downloaded: Path, folder: Path) -> bool:
    [(wanted, target)] = release.wanted_files
    with tarfile.open(downloaded, mode="r:*") as content:
        seen: list[tarfile.TarInfo] = []

        def entries() -> Iterator[tuple[str, bool]]:
            for member in content:
                seen[:] = [member]
                yield member.name, member.isdir()

        result = search_layer(entries(), wanted)
        if result == FOUND:
            if not seen[0].isfile():
                raise ToolchainError(f"{wanted} in {release.url} is a link")
            _write(_opened(content, seen[0]), folder, target, wanted, PROGRAM)
    if result == REMOVED:
        _check_all_found(release, {wanted})
    return result == FOUND


def _extract_module(release: ResolvedRelease, downloaded: Path, folder: Path) -> bool:
    wanted = {pattern for pattern, _ in release.wanted_files}
    with zipfile.ZipFile(downloaded) as archive:
        found = module_hash(archive)
        if found != release.module_hash:
            raise ToolchainError(f"{release.url} has the hash {found}, but the pins say {release.module_hash}")
        for name in archive.namelist():
            for pattern, target in release.wanted_files:
                _, _, path = name.partition(f"@v{release.version}/")
                if _matches(path, pattern):
                    with archive.open(name) as file:
                        _write(file, folder, target, name, TEXT)
                    wanted.discard(pattern)
    _check_all_found(release, wanted)
    return True


def _matches(path: str, pattern: str) -> bool:
    """True if the path matches; as with `Path.glob`, a star does not match a slash."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _opened(content: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = content.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is not a file")
    return file


def _write(source: IO[bytes], folder: Path, target: str, name: str, mode: int) -> None:
    path = folder / (target + name.rpartition("/")[2] if target.endswith("/") else target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
    path.chmod(mode)


def _check_all_found(release: ResolvedRelease, missing: set[str]) -> None:
    if missing:
        raise ToolchainError(f"{release.url} does not contain {', '.join(sorted(missing))}")


_EXTRACT: Mapping[str, Callable[[ResolvedRelease, Path, Path], bool]] = {
    FILE: _extract_file,
    ARCHIVE: _extract_archive,
    IMAGE: _extract_layer,
    MODULE: _extract_module,
}
