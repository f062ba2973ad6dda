"""Images: where they come from, and whether they are pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from msgspec import structs

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment
from trainform.spec.names import PLACEHOLDER, is_placeholder, qualified, split_registry

# github.com/distribution/reference, whose grammar container runtimes read images by.
_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?"
)
_PINNED = re.compile(r"@sha256:[0-9a-f]{64}\Z")
NO_REFERENCE = (
    "the value is not an image reference, so nobody can say which registry it comes from",
    "write registry/path:tag or registry/path@sha256:<64 hex digits>; the path in lower case",
)


def is_reference(image: str) -> bool:
    """True if a container runtime takes the text for an image."""
    found = _REFERENCE.fullmatch(image)
    return found is not None and re.fullmatch(_DOMAIN, split_registry(qualified(found["name"]))[0]) is not None


def registries(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Images from a registry that the environment does not name; those of image volumes too."""
    limits = environment.limits
    allowed = frozenset(registry.rstrip("/") for registry in limits.registries)
    for finding in (*_images(judged), *_pushed(judged)) if allowed else ():
        if not is_reference(str(finding.value)):
            yield _with(finding, *NO_REFERENCE)
        elif not _under(qualified(str(finding.value)), allowed):
            yield _with(
                finding,
                f"the image is not from a registry that the environment allows ({list_names(limits.registries)})",
                f"push it to {limits.registries[0]} and use that name",
            )


def digests(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Images by a tag, which may be another image tomorrow."""
    for finding in _images(judged):
        if _PINNED.search(str(finding.value)) is None:
            yield _with(
                finding,
                "the image is not pinned by digest, which the environment requires",
                "write image@sha256:… as your registry shows it",
            )


def placeholders(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """The image that `trainform new` writes."""
    for finding in _images(judged):
        if is_placeholder(str(finding.value)):
            yield _with(finding, *PLACEHOLDER)


def _pushed(judged: Judged) -> Iterator[Finding]:
    """The repositories to which an operator pushes images, each as a finding without words."""
    for add_on in judged.add_ons:
        if add_on.repository:
            yield Finding(add_on.where, add_on.repository, "", "", key=add_on.key)


def _images(judged: Judged) -> Iterator[Finding]:
    """Each image as a finding without words."""
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


def _with(finding: Finding, reason: str, fix: str) -> Finding:
    return structs.replace(finding, reason=reason, fix=fix)


def _under(image: str, registries: Set[str]) -> bool:
    """True if the image is in one of the registries, which may be paths in a registry."""
    return any(image[: slash.start()] in registries for slash in re.finditer("/", image))
