"""Data that a job writes."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment


def kept_claims(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Claims that go with the experiment, though its ranked pods write to them."""
    ranked = [each for each in judged.templates if judged.ranked is None or each.role in judged.ranked]
    written = {name for template in ranked for name in _written(template)}
    for key, body in judged.of_kind("PersistentVolumeClaim"):
        if key not in judged.kept and mapping(body.get("metadata")).get("name") in written:
            reason = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
            yield Finding("keep", False, reason, "write `keep: true`, or `read_only: true`", key=key)


def _written(template: Template) -> Iterator[str]:
    """The claims that a container of the pods mounts with write access."""
    mounts = [mount for _, container in template.containers() for mount in mappings(container.get("volumeMounts"))]
    writable = [mount.get("name") for mount in mounts if not mount.get("readOnly")]
    for volume in template.volumes():
        source = mapping(volume.get("persistentVolumeClaim"))
        if volume.get("name") in writable and not source.get("readOnly"):
            yield str(source.get("claimName"))
