"""Claims: the data that a job writes, and new claims of storage."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import Place, places
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

CLASS = "storageClassName"
NEW_CLAIM_FIELDS = ("accessModes", "resources", CLASS, "volumeMode")
# Paths of the specs of claims, by the kind of the object: Volcano's Job creates claims too.
CLAIMS = {
    "PersistentVolumeClaim": ("spec",),
    "StatefulSet": ("spec.volumeClaimTemplates[].spec",),
    "Job": ("spec.volumes[].volumeClaim",),
}


def kept_claims(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield claims that are deleted with the experiment although its ranked pods write to them."""
    ranked = [each for each in judged.templates if judged.ranked is None or each.role in judged.ranked]
    written = {name for template in ranked for name in _written(template)}
    for key, body in judged.of_kind("PersistentVolumeClaim"):
        if key not in judged.kept and str(mapping(body.get("metadata")).get("name")) in written:
            reason = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
            yield Finding("keep", False, reason, "write `keep: true`, or `read_only: true`", key=key)


def new_claims(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield new claims of a storage class that the environment does not offer, or with existing data."""
    classes = [*environment.storage_classes.values()]
    listed = list_names(classes) if classes else "none"
    for key, template, (where, spec) in _new_claims(judged):
        name = mapping(spec).get(CLASS)
        if name is not None and name not in classes:
            reason = f"the environment {environment.name} does not offer this storage class (it offers: {listed})"
            fix = "write a `class` of the environment, or ask the platform team for storage_classes"
            yield Finding(f"{where}.{CLASS}", name, reason, fix, template, key)
        for field, value in mapping(spec).items():
            if field not in NEW_CLAIM_FIELDS and value not in (None, ""):
                reason = "the field binds the claim to an existing volume or data, or to a class that no limit sees"
                fix = "remove it; name a claim that exists by `claim`"
                yield Finding(f"{where}.{field}", None, reason, fix, template, key, bound=value)


def _new_claims(judged: Judged) -> Iterator[tuple[str | None, Template | None, Place]]:
    """Yield the spec of each new claim, with the key of its object or the template of its pods."""
    for key, body in judged.objects.items():
        for path in CLAIMS.get(str(body.get("kind")), ()):
            yield from ((key, None, place) for place in places(body, path))
    for template in judged.templates:
        found = places(template.body, "spec.volumes[].ephemeral.volumeClaimTemplate.spec")
        yield from ((None, template, place) for place in found)


def _written(template: Template) -> Iterator[str]:
    """Yield the claims that a container of the pods mounts with write access."""
    mounts = [mount for _, container in template.containers() for mount in mappings(container.get("volumeMounts"))]
    writable = [mount.get("name") for mount in mounts if not mount.get("readOnly")]
    for volume in template.volumes():
        source = mapping(volume.get("persistentVolumeClaim"))
        if volume.get("name") in writable and not source.get("readOnly"):
            yield str(source.get("claimName"))
