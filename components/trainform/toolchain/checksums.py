"""Published checksums of releases, and Go's hash of a module's files."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
# The output of `sha256sum` and `shasum`: two columns, and a star before the name of a file that was read as binary.
_ROW = re.compile(r"([0-9a-f]{64})\s+\*?(?:\./)?(\S+)", re.IGNORECASE)
CHUNK = 1 << 20


def published_sha256(text: str, name: str) -> str:
    """Return the SHA-256 of the file `name` from a text with one hash, or with hashes and names. Raises `ValueError` if
    there is none."""
    text = text.strip()
    if _SHA256.fullmatch(text):
        return text.lower()
    rows = [_ROW.fullmatch(line.strip()) for line in text.splitlines()]
    found = {row[1].lower() for row in rows if row is not None and row[2] == name}
    if len(found) != 1:
        raise ValueError(f"has {'no checksum' if not found else 'several checksums'} for {name}")
    return found.pop()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def module_hash(archive: zipfile.ZipFile) -> str:
    """Return the `h1:` hash (as in go.sum) of a module in an archive of a Go proxy: a hash of the names and hashes of
    its files."""
    rows = hashlib.sha256()
    for name in sorted(archive.namelist(), key=str.encode):
        with archive.open(name) as file:
            digest = hashlib.sha256()
            while piece := file.read(CHUNK):
                digest.update(piece)
        rows.update(f"{digest.hexdigest()}  {name}\n".encode())
    return f"h1:{base64.b64encode(rows.digest()).decode()}"
