"""What an operator of the live cluster would refuse, or drop, of a patch: by its definition there, which may be of another version than ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from trainform.manifests.manifest import Manifest
from trainform.manifests.served.validation import mistakes
from trainform.manifests.shapes import mapping, mappings
from trainform.objects import job_manifests
from trainform.plan.model import Plan

# Fields of every object, which a definition leaves to Kubernetes.
_OF_OBJECTS = ("apiVersion", "kind", "metadata")


def refused_patches(definition: dict[str, Any], plan: Plan, manifests: Sequence[Manifest]) -> Iterator[tuple[str, str]]:
    """Each mistake that patches made in the objects of the definition's kind, with its fix."""
    spec = mapping(definition.get("spec"))
    kind = mapping(spec.get("names")).get("kind")
    objects = [manifest for manifest in manifests if manifest.body["kind"] == kind] if plan.overrides else []
    if not objects:
        return
    without = structs.replace(
        plan, manifest_overrides={}, roles=tuple(structs.replace(role, overrides={}) for role in plan.roles)
    )
    before = {manifest.key: manifest.body for manifest in job_manifests(without)}
    for manifest in objects:
        schema = _schema(spec, manifest.body["apiVersion"])
        known = {(mistake.where, mistake.reason) for mistake in mistakes(_own(before[manifest.key]), schema)}
        for mistake in mistakes(_own(manifest.body), schema):
            if (mistake.where, mistake.reason) not in known:
                name = mapping(definition.get("metadata")).get("name")
                reason = f"a patch makes {mistake.where} of the {kind} what {name} of this cluster does not allow: {mistake.reason}"
                yield reason, f"{mistake.fix}; or update the operator there"


def _own(body: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in body.items() if field not in _OF_OBJECTS}


def _schema(spec: dict[str, Any], api_version: str) -> dict[str, Any]:
    """The schema of the version; empty if the cluster does not have it, which is said when the object is made."""
    group, _, version = api_version.partition("/")
    found = (
        each for each in mappings(spec.get("versions")) if each.get("name") == version and spec.get("group") == group
    )
    return mapping(mapping(next(found, {}).get("schema")).get("openAPIV3Schema"))
