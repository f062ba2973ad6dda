"""Extraction of the wanted files from a download: one function for each kind of release."""

from __future__ import annotations

import base64
import fnmatch
import gzip
import hashlib
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from trainform.errors import ToolchainError
from trainform.local.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE
from trainform.local.toolchain.resolving import ResolvedRelease

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
