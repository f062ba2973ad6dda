"""The files to download for a release, with sizes and hashes, which its servers are asked for before the downloads begin."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec import Struct

from trainform.errors import ToolchainError
from trainform.toolchain import images
from trainform.toolchain.checksums import published_sha256
from trainform.toolchain.images import Blob
from trainform.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE
from trainform.toolchain.resolving import ResolvedRelease
from trainform.toolchain.web import FIX, StatusError, Web

Result = TypeVar("Result")


class Piece(Struct, frozen=True):
    """One file on a server; `sha256` and `size` are None if they are not known."""

    url: str
    sha256: str | None
    size: int | None

    @property
    def key(self) -> str:
        """A unique file name: the hash of the content if it is known, else of the URL."""
        return hashlib.sha256(self.url.encode()).hexdigest() if self.sha256 is None else self.sha256


class Source(Struct, frozen=True):
    """A release and its pieces. The pieces of an image are its layers, which are downloaded in this order until the wanted file is found.

    `checked`: see `Receipt`.
    """

    release: ResolvedRelease
    pieces: tuple[Piece, ...]
    checked: str | None


def find_source(web: Web, release: ResolvedRelease) -> Source:
    """Return the pieces of a release. Raises `ToolchainError` if a server cannot be reached or does not have it."""
    return _FIND[release.kind](web, release)


def _file(web: Web, release: ResolvedRelease) -> Source:
    sha256 = _published(web, release)
    piece = Piece(release.url, sha256, web.size(release.url))
    return Source(release, (piece,), None if sha256 is None else release.sums)


def _published(web: Web, release: ResolvedRelease) -> str | None:
    """Return the published hash, None if the project publishes none. Raises `ToolchainError` if it cannot be read."""
    if release.sums is None:
        return None
    try:
        text, _ = web.text(release.sums)
    except StatusError as error:
        if error.status != 404:
            raise
        return None
    name = release.url.rpartition("/")[2]
    return _read(release.sums, lambda: published_sha256(text.decode(errors="replace"), name))


def _image(web: Web, release: ResolvedRelease) -> Source:
    repository = release.url.rpartition("/manifests/")[0]
    body, headers = web.text(release.url, images.ACCEPTED)
    promised = headers.get("Docker-Content-Digest")
    if promised is not None and promised != f"sha256:{hashlib.sha256(body).hexdigest()}":
        raise ToolchainError(f"{release.url} does not match its digest", FIX)
    document = _read(release.url, lambda: images.parse_document(body))
    if images.is_index(document):
        wanted = _read(release.url, lambda: images.manifest_for(document, release.system, release.machine))
        url = f"{repository}/manifests/sha256:{wanted.sha256}"
        document = _read(url, lambda: images.parse_document(_fetch_verified(web, url, wanted)))
    else:
        url = release.url
    configuration = _read(url, lambda: images.configuration_of(document))
    address = f"{repository}/blobs/sha256:{configuration.sha256}"
    found = _read(address, lambda: images.parse_document(_fetch_verified(web, address, configuration)))
    _read(release.url, lambda: images.check_platform(found, release.system, release.machine))
    layers = _read(url, lambda: images.layers_of(document))
    pieces = tuple(Piece(f"{repository}/blobs/sha256:{layer.sha256}", layer.sha256, layer.size) for layer in layers)
    return Source(release, pieces, "the digests of the image")


def _fetch_verified(web: Web, url: str, blob: Blob) -> bytes:
    body, _ = web.text(url, images.ACCEPTED)
    if hashlib.sha256(body).hexdigest() != blob.sha256:
        raise ToolchainError(f"{url} does not match its digest", FIX)
    return body


def _module(web: Web, release: ResolvedRelease) -> Source:
    return Source(release, (Piece(release.url, None, web.size(release.url)),), "go.sum of the pins")


def _read(url: str, parse: Callable[[], Result]) -> Result:
    """Parse data from a server; a `ValueError` becomes a `ToolchainError` with the URL."""
    try:
        return parse()
    except ValueError as error:
        raise ToolchainError(f"{url} {error}", FIX) from error


_FIND: Mapping[str, Callable[[Web, ResolvedRelease], Source]] = {
    FILE: _file,
    ARCHIVE: _file,
    IMAGE: _image,
    MODULE: _module,
}
