"""What exactly is to be fetched for a release, asked of its servers before anything long begins: sizes, and the hash of each file."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from typing import TypeVar

from trainform.errors import ToolchainError
from trainform.toolchain import images
from trainform.toolchain.checksums import published_sha256
from trainform.toolchain.images import Blob
from trainform.toolchain.locating import Located
from trainform.toolchain.releases import ARCHIVE, FILE, IMAGE, MODULE
from trainform.toolchain.web import FIX, StatusError, Web

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Piece:
    """One file of a server."""

    url: str
    sha256: str | None
    size: int | None

    @property
    def key(self) -> str:
        """A name of its own among the downloaded files: by content where that is known, else by address."""
        return hashlib.sha256(self.url.encode()).hexdigest() if self.sha256 is None else self.sha256


@dataclasses.dataclass(frozen=True)
class Source:
    """A release and its pieces: of an image its layers, fetched in this order until the wanted file is found. `checked`: see `Receipt`."""

    located: Located
    pieces: tuple[Piece, ...]
    checked: str | None


def find_source(web: Web, located: Located) -> Source:
    """`ToolchainError` where a server cannot be reached, or does not have it."""
    return _FIND[located.kind](web, located)


def _file(web: Web, located: Located) -> Source:
    sha256 = _published(web, located)
    piece = Piece(located.url, sha256, web.size(located.url))
    return Source(located, (piece,), None if sha256 is None else located.sums)


def _published(web: Web, located: Located) -> str | None:
    """None where the project has no such file; anything else that is wrong with it is an error."""
    if located.sums is None:
        return None
    try:
        text, _ = web.text(located.sums)
    except StatusError as error:
        if error.status != 404:
            raise
        return None
    name = located.url.rpartition("/")[2]
    return _read(located.sums, lambda: published_sha256(text.decode(errors="replace"), name))


def _image(web: Web, located: Located) -> Source:
    repository = located.url.rpartition("/manifests/")[0]
    body, headers = web.text(located.url, images.ACCEPTED)
    promised = headers.get("Docker-Content-Digest")
    if promised is not None and promised != f"sha256:{hashlib.sha256(body).hexdigest()}":
        raise ToolchainError(f"{located.url} is not what its digest says", FIX)
    document = _read(located.url, lambda: images.parse_document(body))
    if images.is_index(document):
        wanted = _read(located.url, lambda: images.manifest_for(document, located.system, located.machine))
        url = f"{repository}/manifests/sha256:{wanted.sha256}"
        document = _read(url, lambda: images.parse_document(_exactly(web, url, wanted)))
    else:
        url = located.url
    configuration = _read(url, lambda: images.configuration_of(document))
    address = f"{repository}/blobs/sha256:{configuration.sha256}"
    found = _read(address, lambda: images.parse_document(_exactly(web, address, configuration)))
    _read(located.url, lambda: images.check_platform(found, located.system, located.machine))
    layers = _read(url, lambda: images.layers_of(document))
    pieces = tuple(Piece(f"{repository}/blobs/sha256:{layer.sha256}", layer.sha256, layer.size) for layer in layers)
    return Source(located, pieces, "the digests of the image")


def _exactly(web: Web, url: str, blob: Blob) -> bytes:
    body, _ = web.text(url, images.ACCEPTED)
    if hashlib.sha256(body).hexdigest() != blob.sha256:
        raise ToolchainError(f"{url} is not what its digest says", FIX)
    return body


def _module(web: Web, located: Located) -> Source:
    return Source(located, (Piece(located.url, None, web.size(located.url)),), "go.sum of the pins")


def _read(url: str, parse: Callable[[], Result]) -> Result:
    """What a server sent, understood, or an error that names the server."""
    try:
        return parse()
    except ValueError as error:
        raise ToolchainError(f"{url} {error}", FIX) from error


_FIND: Mapping[str, Callable[[Web, Located], Source]] = {FILE: _file, ARCHIVE: _file, IMAGE: _image, MODULE: _module}
