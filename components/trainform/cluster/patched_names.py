"""Objects that merge patches name in pods: without them no pod is made, or none starts. What fields name is looked for by `preflight` itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec import structs

from trainform.backends.patched_pods import with_few_pods
from trainform.backends.table import BACKENDS
from trainform.cluster.read import Cluster
from trainform.errors import InputError
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import CONTAINER_FIELDS
from trainform.objects import job_manifests
from trainform.plan.model import Plan

# Fields with a name, by where they stand: the kind of the object.
_OF_PODS = {
    "serviceAccountName": "ServiceAccount",
    "serviceAccount": "ServiceAccount",
    "priorityClassName": "PriorityClass",
    "runtimeClassName": "RuntimeClass",
}
_OF_VOLUMES = (
    ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
    ("configMap", "name", "ConfigMap"),
    ("secret", "secretName", "Secret"),
    ("secret", "name", "Secret"),  # of a projected volume
)
_OF_VARIABLES = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_OF_ALL_VARIABLES = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))
_WITHOUT_NAMESPACE = frozenset(["PriorityClass", "RuntimeClass"])


class NamedObject(NamedTuple):
    """An object that a pod needs. key: the entry of a ConfigMap or a Secret that it needs, "" for none in particular."""

    kind: str
    name: str
    key: str = ""


def names_in(spec: dict[str, Any]) -> Iterator[NamedObject]:
    """What a pod with this spec needs; nothing that may be missing."""
    yield from (NamedObject(kind, spec[field]) for field, kind in _OF_PODS.items() if spec.get(field))
    yield from (NamedObject("Secret", each["name"]) for each in mappings(spec.get("imagePullSecrets")))
    for volume in mappings(spec.get("volumes")):
        for source in (volume, *mappings(mapping(volume.get("projected")).get("sources"))):
            for field, name, kind in _OF_VOLUMES:
                found = mapping(source.get(field))
                if name in found and not found.get("optional"):
                    yield from (
                        NamedObject(kind, found[name], key)
                        for key in ("", *(item["key"] for item in mappings(found.get("items"))))
                    )
    for container in (each for field in CONTAINER_FIELDS for each in mappings(spec.get(field))):
        for variable in mappings(container.get("env")):
            yield from _references(mapping(variable.get("valueFrom")), _OF_VARIABLES)
        for source in mappings(container.get("envFrom")):
            yield from _references(source, _OF_ALL_VARIABLES)


def patched_names(plan: Plan) -> list[NamedObject]:
    """What the pods of the plan need by its merge patches alone, and the job does not bring itself."""
    if not plan.overrides:
        return []
    few = with_few_pods(plan)
    bare = structs.replace(
        few, manifest_overrides={}, roles=tuple(structs.replace(role, overrides={}) for role in few.roles)
    )
    before = {*_needed(bare)}
    return [found for found in dict.fromkeys(_needed(few)) if found not in before]


def missing_names(cluster: Cluster, plan: Plan, made_here: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The reason and the fix of each object, or entry, that patches name and that is not there. made_here: kind and name of the job's own objects."""
    for kind, name, key in patched_names(plan):
        if (kind, name) in made_here:
            continue
        anywhere = kind in _WITHOUT_NAMESPACE
        place = cluster.cluster_name if anywhere else plan.namespace
        found = cluster.get(kind, name, None if anywhere else plan.namespace)
        if found.missing and not key:
            yield f"a patch names the {kind} {name}, which does not exist in {place}", "create it, or correct its name"
        elif found.body is not None and key and key not in _entries(found.body):
            reason = f"a patch names the entry {key} of the {kind} {name}, which does not have it"
            yield reason, "add it, or correct its name"


def _references(source: dict[str, Any], fields: tuple[tuple[str, str], ...]) -> Iterator[NamedObject]:
    for field, kind in fields:
        found = mapping(source.get(field))
        if "name" in found and not found.get("optional"):
            yield from (NamedObject(kind, found["name"], key) for key in dict.fromkeys(("", found.get("key", ""))))


def _needed(plan: Plan) -> Iterator[NamedObject]:
    backend, manifests = BACKENDS[plan.backend], job_manifests(plan)
    try:
        specs = [pod["spec"] for pod in backend.pods(plan, manifests)[0]]
    except InputError:  # only the cluster knows the pods of a runtime that is named
        specs = [template.spec for template in backend.templates(plan, manifests)]
    for spec in specs:
        yield from names_in(spec)


def _entries(body: dict[str, Any]) -> set[str]:
    return {key for field in ("data", "binaryData") for key in mapping(body.get(field))}
