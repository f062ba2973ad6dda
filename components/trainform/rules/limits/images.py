"""Images: where they come from, and whether they are pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment
from trainform.spec.names import PLACEHOLDER, is_placeholder, split_registry


def registries(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Images from a registry that the environment does not name; those of image volumes too."""
    limits = environment.limits
    allowed = frozenset(registry.rstrip("/") for registry in limits.registries)
    for finding in _images(judged) if allowed else ():
        if not _under(qualified(str(finding.value)), allowed):
            yield _with(
                finding,
                f"the image is not from a registry that the environment allows ({list_names(limits.registries)})",
                f"push it to {limits.registries[0]} and use that name",
            )


def digests(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Images by a tag, which may be another image tomorrow."""
    for finding in _images(judged):
        if "@sha256:" not in str(finding.value):
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


def _with(finding: Finding, reason: str, fix: str) -> Finding:
    return Finding(finding.where, finding.value, reason, fix, finding.template)


def qualified(image: str) -> str:
    """The image with its registry: `python:3.11` comes from docker.io/library."""
    registry, path = split_registry(image)
    if registry:
        return image
    return f"docker.io/{path}" if "/" in path else f"docker.io/library/{path}"


def _under(image: str, registries: Set[str]) -> bool:
    """True if the image is in one of the registries, which may be paths in a registry."""
    return any(image[: slash.start()] in registries for slash in re.finditer("/", image))
