"""Taking the wanted files out of what was downloaded: one function for each kind of release."""

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
from trainform.toolchain.images import FOUND, REMOVED, plain, search_layer
from trainform.toolchain.locating import Located
from trainform.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE

CHUNK = 1 << 20
PROGRAM, TEXT = 0o755, 0o644
# tar's, zlib's, gzip's and zip's errors for a file that ends early, was changed or is no archive.
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, ValueError)


def take(located: Located, downloaded: Path, folder: Path) -> bool:
    """Put what is wanted into `folder`. False where it is not in this layer of an image, and may be in the next one."""
    try:
        return _TAKE[located.kind](located, downloaded, folder)
    except _BROKEN as error:
        raise ToolchainError(f"{located.url} is not whole: {error}") from error


def _take_file(located: Located, downloaded: Path, folder: Path) -> bool:
    with downloaded.open("rb") as file:
        [(_, target)] = located.takes
        _write(file, folder, target, located.name, PROGRAM)
    return True


def _take_archive(located: Located, downloaded: Path, folder: Path) -> bool:
    wanted = {pattern for pattern, _ in located.takes}
    with gzip.open(downloaded) as stream:
        with tarfile.open(fileobj=stream, mode="r:") as content:
            for member in content:
                for pattern, target in located.takes:
                    if member.isfile() and _matches(plain(member.name), pattern):
                        _write(_opened(content, member), folder, target, member.name, PROGRAM)
                        wanted.discard(pattern)
        # tar stops at its own end mark; gzip's checksum stands after it.
        while stream.read(CHUNK):
            pass
    _check_all_found(located, wanted)
    return True


def _take_layer(located: Located, downloaded: Path, folder: Path) -> bool:
    [(wanted, target)] = located.takes
    with tarfile.open(downloaded, mode="r:*") as content:
        seen: list[tarfile.TarInfo] = []

        def entries() -> Iterator[tuple[str, bool]]:
            for member in content:
                seen[:] = [member]
                yield member.name, member.isdir()

        result = search_layer(entries(), wanted)
        if result == FOUND:
            if not seen[0].isfile():
                raise ToolchainError(f"{wanted} in {located.url} is a link")
            _write(_opened(content, seen[0]), folder, target, wanted, PROGRAM)
    if result == REMOVED:
        _check_all_found(located, {wanted})
    return result == FOUND


def _take_module(located: Located, downloaded: Path, folder: Path) -> bool:
    wanted = {pattern for pattern, _ in located.takes}
    with zipfile.ZipFile(downloaded) as archive:
        found = module_hash(archive)
        if found != located.module_hash:
            raise ToolchainError(f"{located.url} has the hash {found}, and the pins say {located.module_hash}")
        for name in archive.namelist():
            for pattern, target in located.takes:
                _, _, path = name.partition(f"@v{located.version}/")
                if _matches(path, pattern):
                    with archive.open(name) as file:
                        _write(file, folder, target, name, TEXT)
                    wanted.discard(pattern)
    _check_all_found(located, wanted)
    return True


def _matches(path: str, pattern: str) -> bool:
    """As `Path.glob` does it: a star stands for no slash."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _opened(content: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = content.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is no file")
    return file


def _write(source: IO[bytes], folder: Path, target: str, name: str, mode: int) -> None:
    path = folder / (target + name.rpartition("/")[2] if target.endswith("/") else target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
    path.chmod(mode)


def _check_all_found(located: Located, missing: set[str]) -> None:
    if missing:
        raise ToolchainError(f"{located.url} holds no {', '.join(sorted(missing))}")


_TAKE: Mapping[str, Callable[[Located, Path, Path], bool]] = {
    FILE: _take_file,
    ARCHIVE: _take_archive,
    IMAGE: _take_layer,
    MODULE: _take_module,
}
