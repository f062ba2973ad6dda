"""Container images as data: the challenge for a token, the manifest of one platform, its layers, and which layer has a file.

This module sends no requests (`web` does). Data from a registry is checked; `ValueError` says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
ACCEPTED = ", ".join((*INDEXES, *MANIFESTS))
LAYERS = (
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.oci.image.layer.v1.tar",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PAIR = re.compile(r'(\w+)="([^"]*)"')
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
FOUND, REMOVED, ABSENT = "found", "removed", "absent"


class Challenge(Struct, frozen=True):
    """Where to get a token, and for which service and scope."""

    realm: str
    service: str
    scope: str


class Blob(Struct, frozen=True):
    """An object in a registry, with its hash and size."""

    sha256: str
    size: int


def parse_challenge(header: str) -> Challenge | None:
    """Return the challenge in a `WWW-Authenticate` header, None if it does not ask for a bearer token."""
    scheme, _, rest = header.strip().partition(" ")
    pairs = dict(_PAIR.findall(rest))
    if scheme.lower() != "bearer" or not pairs.get("realm"):
        return None
    return Challenge(pairs["realm"], pairs.get("service", ""), pairs.get("scope", ""))


def parse_document(body: bytes) -> dict[str, Any]:
    """Return an index, a manifest or a configuration; `ValueError` if it is not a JSON object."""
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ValueError("is not JSON; the network may require a login") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")
    return document


def is_index(document: dict[str, Any]) -> bool:
    """True if a document lists manifests for several platforms, False if it is one manifest."""
    return isinstance(document.get("manifests"), list)


def manifest_for(index: dict[str, Any], system: str, machine: str) -> Blob:
    """Return the manifest of a platform; `ValueError` if there is none. Attestations have the platform `unknown`."""
    for entry in index["manifests"]:
        platform = entry.get("platform") if isinstance(entry, dict) else None
        if isinstance(platform, dict) and (platform.get("os"), platform.get("architecture")) == (system, machine):
            return _blob(entry)
    raise ValueError(f"has no image for {system} on {machine}")


def check_platform(configuration: dict[str, Any], system: str, machine: str) -> None:
    """Raise `ValueError` if an image is not for this platform. Its configuration says so; a manifest outside of an index does not."""
    found = (configuration.get("os"), configuration.get("architecture"))
    if found != (system, machine):
        raise ValueError(f"is an image for {found[0]} on {found[1]}, not for {system} on {machine}")


def configuration_of(manifest: dict[str, Any]) -> Blob:
    """Return the configuration of an image; `ValueError` if there is none."""
    return _blob(_field(manifest, "config", dict))


def layers_of(manifest: dict[str, Any]) -> tuple[Blob, ...]:
    """Return the layers, the top one first: its files hide those of the lower layers. `ValueError` for an unknown kind of layer."""
    layers = _field(manifest, "layers", list)
    strange = sorted({str(_field(layer, "mediaType", str)) for layer in layers} - set(LAYERS))
    if strange:
        raise ValueError(f"has layers of the kind {', '.join(strange)}, which trainform cannot read")
    return tuple(_blob(layer) for layer in reversed(layers))


def search_layer(entries: Iterable[tuple[str, bool]], wanted: str) -> str:
    """Return FOUND if a layer has the file `wanted`, REMOVED if it hides that file of the lower layers, else ABSENT.

    An entry is a name, and True for a folder. A whiteout applies to the lower layers only, at whatever place of its own layer it is.
    """
    above = [part for part in _parents(wanted) if part]
    removing = {_join(folder, _OPAQUE) for folder in ("", *above)}
    removing |= {
        _join(parent, f"{_WHITEOUT}{name}") for parent, _, name in (path.rpartition("/") for path in (wanted, *above))
    }
    result = ABSENT
    for name, is_folder in entries:
        path = normalized(name)
        if path == wanted and not is_folder:
            return FOUND
        # There is a folder at its path, or a file at the path of a parent folder.
        hidden = path == wanted or path.startswith(f"{wanted}/") or (path in above and not is_folder)
        if path in removing or hidden:
            result = REMOVED
    return result


def normalized(name: str) -> str:
    """Return a name without differences of spelling: `./usr/bin/x`, `/usr/bin/x` and `usr/bin/x/` are equal."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _parents(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _field(entry: object, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"is not an image manifest: {name} is missing")
    return value


def _blob(entry: object) -> Blob:
    digest, size = _field(entry, "digest", str), _field(entry, "size", int)
    if not _DIGEST.fullmatch(digest):
        raise ValueError("is not an image manifest: a digest is not a SHA-256")
    return Blob(digest.removeprefix("sha256:"), size)
