"""The files to download for a release, with the hashes that its servers publish."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from trainform.errors import ToolchainError
from trainform.local.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE
from trainform.local.toolchain.resolving import ResolvedRelease
from trainform.local.toolchain.web import FIX, Web

ACCEPTED = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1",
        "oci.image.manifest.v1",
        "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2",
    )
)
# A hash alone, or a row of `sha256sum` and `shasum`, with a star before the name of a file that was read as binary.
_ROW = re.compile(r"([0-9a-f]{64})(?:\s+\*?(?:\./)?(\S+))?", re.IGNORECASE)


class Platform(Struct, frozen=True):
    """The system and processor of an image in an index."""

    os: str = ""
    architecture: str = ""


class Blob(Struct, frozen=True):
    """An object in a registry."""

    digest: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    platform: Platform = Platform()


class Manifest(Struct, frozen=True):
    """The manifest of an image, or an index of several manifests."""

    manifests: tuple[Blob, ...] = ()
    layers: tuple[Blob, ...] = ()


class Piece(Struct, frozen=True):
    """One file on a server. `sha256` is None for a module, whose files have a hash in go.sum."""

    url: str
    sha256: str | None

    @property
    def key(self) -> str:
        """Return a unique file name: the hash of the content if it is known, else of the URL."""
        return hashlib.sha256(self.url.encode()).hexdigest() if self.sha256 is None else self.sha256


class Source(Struct, frozen=True):
    """A release and its pieces: of an image its layers, top first, until one has the file."""

    release: ResolvedRelease
    pieces: tuple[Piece, ...]


def find_source(web: Web, release: ResolvedRelease) -> Source:
    """Return the pieces of a release. Raises `ToolchainError` if a server cannot be reached or does not have it."""
    return _FIND[release.kind](web, release)


def _file(web: Web, release: ResolvedRelease) -> Source:
    if release.sums is None:
        raise ToolchainError(f"{release.url} has no published hash", FIX)
    try:
        text = web.text(release.sums)
        sha256 = published_sha256(text.decode(errors="replace"), release.url.rpartition("/")[2])
    except ValueError as error:
        raise ToolchainError(f"{release.sums} {error}", FIX) from error
    return Source(release, (Piece(release.url, sha256),))


def published_sha256(text: str, name: str) -> str:
    """Return the SHA-256 of the file `name` from one hash, or from hashes with names. ValueError without it."""
    lines = text.strip().splitlines()
    rows = [row for line in lines if (row := _ROW.fullmatch(line.strip())) is not None]
    found = {row[1].lower() for row in rows if row[2] == name or (row[2] is None and len(lines) == 1)}
    if len(found) != 1:
        raise ValueError(f"has {'no checksum' if not found else 'several checksums'} for {name}")
    return found.pop()


def _image(web: Web, release: ResolvedRelease) -> Source:
    repository = release.url.rpartition("/manifests/")[0]
    platform, url = Platform(*release.platform), release.url
    document = _manifest(web, url, None)
    if document.manifests:
        found = next((entry for entry in document.manifests if entry.platform == platform), None)
        if found is None:
            raise ToolchainError(f"{url} has no image for {platform.os} on {platform.architecture}", FIX)
        url = f"{repository}/manifests/{found.digest}"
        document = _manifest(web, url, found.digest)
    if not document.layers:
        raise ToolchainError(f"{url} is not an image manifest", FIX)
    pieces = tuple(
        Piece(f"{repository}/blobs/{layer.digest}", layer.digest.removeprefix("sha256:"))
        for layer in reversed(document.layers)
    )
    return Source(release, pieces)


def _manifest(web: Web, url: str, digest: str | None) -> Manifest:
    """Return a document of a registry. Raises `ToolchainError` if it does not match its digest or cannot be read."""
    body = web.text(url, ACCEPTED)
    if digest is not None and digest != f"sha256:{hashlib.sha256(body).hexdigest()}":
        raise ToolchainError(f"{url} does not match its digest", FIX)
    try:
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ToolchainError(
            f"{url} is not an image manifest: {error}; the network may require a login", FIX
        ) from error


_FIND: Mapping[str, Callable[[Web, ResolvedRelease], Source]] = {
    FILE: _file,
    ARCHIVE: _file,
    IMAGE: _image,
    MODULE: lambda web, release: Source(release, (Piece(release.url, None),)),
}
