"""Images: their registries, and their digests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from msgspec import structs

from trainform.errors import list_names
from trainform.rules.limits.rule import Finding, Judged
from trainform.spec.environment import Environment
from trainform.spec.names import PLACEHOLDER, is_placeholder, qualified, split_registry

# The grammar of github.com/distribution/reference, which container runtimes use.
_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?"
)
_PINNED = re.compile(r"@sha256:[0-9a-f]{64}\Z")
NO_REFERENCE = (
    "the value is not an image reference, so the registry that it comes from is unknown",
    "write registry/path:tag or registry/path@sha256:<64 hex digits>; the path in lower case",
)


def is_reference(image: str) -> bool:
    """Return True if a container runtime reads the text as an image."""
    found = _REFERENCE.fullmatch(image)
    return found is not None and re.fullmatch(_DOMAIN, split_registry(qualified(found["name"]))[0]) is not None


def registries(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images, also of image volumes, from a registry that the environment does not allow."""
    limits = environment.limits
    allowed = frozenset(registry.rstrip("/") for registry in limits.registries)
    for finding in (*_images(judged), *_push_targets(judged)) if allowed else ():
        if not is_reference(str(finding.value)):
            yield _add_reason(finding, *NO_REFERENCE)
        elif not _under(qualified(str(finding.value)), allowed):
            yield _add_reason(
                finding,
                f"the image is not from a registry that the environment allows ({list_names(limits.registries)})",
                f"push it to {limits.registries[0]} and use that name",
            )


def digests(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images without a digest: a tag may be another image tomorrow."""
    for finding in _images(judged):
        if _PINNED.search(str(finding.value)) is None:
            yield _add_reason(
                finding,
                "the image is not pinned by digest, which the environment requires",
                "write image@sha256:… as your registry shows it",
            )


def placeholders(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield images that are the placeholder of `trainform new`."""
    for finding in _images(judged):
        if is_placeholder(str(finding.value)):
            yield _add_reason(finding, *PLACEHOLDER)


def _push_targets(judged: Judged) -> Iterator[Finding]:
    """Yield the repositories to which an operator pushes images, as findings without reason and fix."""
    for add_on in judged.add_ons:
        if add_on.repository:
            yield Finding(add_on.where, add_on.repository, "", "", key=add_on.key)


def _images(judged: Judged) -> Iterator[Finding]:
    """Yield each image as a finding without reason and fix."""
    for template, where, container in judged.containers():
        if "image" in container:
            yield Finding(f"{where}.image", container["image"], "", "", template)
    for template in judged.templates:
        for volume in template.volumes():
            if isinstance(volume.get("image"), dict):
                where = f"spec.volumes.{volume.get('name')}.image.reference"
                yield Finding(where, volume["image"].get("reference", ""), "", "", template)
    for add_on in judged.add_ons:
        for image in add_on.images:
            yield Finding(add_on.where, image, "", "", key=add_on.key)


def _add_reason(finding: Finding, reason: str, fix: str) -> Finding:
    return structs.replace(finding, reason=reason, fix=fix)


def _under(image: str, registries: Set[str]) -> bool:
    """Return True if the image is in one of the registries, which may be paths in a registry."""
    return any(image[: slash.start()] in registries for slash in re.finditer("/", image))
