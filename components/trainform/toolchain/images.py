"""Images of a registry, as data: the challenge for a token, the manifest of one platform, its layers, and which layer has a file.

Nothing here asks anybody (`web` does); what comes from outside is checked, and `ValueError` says what is wrong with it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

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


@dataclasses.dataclass(frozen=True)
class Challenge:
    """Where a token is had, and for what."""

    realm: str
    service: str
    scope: str


@dataclasses.dataclass(frozen=True)
class Blob:
    """Something that a registry has under its hash."""

    sha256: str
    size: int


def parse_challenge(header: str) -> Challenge | None:
    """Of `WWW-Authenticate`; None where it asks for something else than a bearer's token."""
    scheme, _, rest = header.strip().partition(" ")
    pairs = dict(_PAIR.findall(rest))
    if scheme.lower() != "bearer" or not pairs.get("realm"):
        return None
    return Challenge(pairs["realm"], pairs.get("service", ""), pairs.get("scope", ""))


def parse_document(body: bytes) -> dict[str, Any]:
    """An index, a manifest or a configuration."""
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ValueError("is no JSON; the network may want a log-in") from error
    if not isinstance(document, dict):
        raise ValueError("is no JSON object")
    return document


def is_index(document: dict[str, Any]) -> bool:
    """An image for several platforms, and not yet one for a single one."""
    return isinstance(document.get("manifests"), list)


def manifest_for(index: dict[str, Any], system: str, machine: str) -> Blob:
    """The manifest of this platform. Attestations beside it are of the platform `unknown`."""
    for entry in index["manifests"]:
        platform = entry.get("platform") if isinstance(entry, dict) else None
        if isinstance(platform, dict) and (platform.get("os"), platform.get("architecture")) == (system, machine):
            return _blob(entry)
    raise ValueError(f"has no image for {system} on {machine}")


def check_platform(configuration: dict[str, Any], system: str, machine: str) -> None:
    """The image's own word on it; a manifest that is not in an index says nothing."""
    found = (configuration.get("os"), configuration.get("architecture"))
    if found != (system, machine):
        raise ValueError(f"is an image for {found[0]} on {found[1]}, not for {system} on {machine}")


def configuration_of(manifest: dict[str, Any]) -> Blob:
    return _blob(_field(manifest, "config", dict))


def layers_of(manifest: dict[str, Any]) -> tuple[Blob, ...]:
    """The topmost first: what is found there hides what is below."""
    layers = _field(manifest, "layers", list)
    strange = sorted({str(_field(layer, "mediaType", str)) for layer in layers} - set(LAYERS))
    if strange:
        raise ValueError(f"has layers of the kind {', '.join(strange)}, which is not read here")
    return tuple(_blob(layer) for layer in reversed(layers))


def search_layer(entries: Iterable[tuple[str, bool]], wanted: str) -> str:
    """Whether one layer has the file `wanted`, removes what lower layers have there, or says nothing of it.

    An entry is a name and whether it is a folder. A removal is meant for the layers below only, wherever in its own layer it stands.
    """
    above = [part for part in _parents(wanted) if part]
    removing = {_join(folder, _OPAQUE) for folder in ("", *above)}
    removing |= {
        _join(parent, f"{_WHITEOUT}{name}") for parent, _, name in (path.rpartition("/") for path in (wanted, *above))
    }
    result = ABSENT
    for name, is_folder in entries:
        path = plain(name)
        if path == wanted and not is_folder:
            return FOUND
        # A folder stands in its place, or something else than a folder above it.
        hidden = path == wanted or path.startswith(f"{wanted}/") or (path in above and not is_folder)
        if path in removing or hidden:
            result = REMOVED
    return result


def plain(name: str) -> str:
    """`./usr/bin/x`, `/usr/bin/x` and `usr/bin/x/` are one name."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _parents(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _field(entry: object, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"is no manifest of an image: {name} is missing")
    return value


def _blob(entry: object) -> Blob:
    digest, size = _field(entry, "digest", str), _field(entry, "size", int)
    if not _DIGEST.fullmatch(digest):
        raise ValueError("is no manifest of an image: a digest is not a SHA-256")
    return Blob(digest.removeprefix("sha256:"), size)
