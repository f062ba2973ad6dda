"""Objects that pods name in their volumes and variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import CONTAINER_FIELDS

_VOLUMES = {"configMap": "ConfigMap", "secret": "Secret", "persistentVolumeClaim": "PersistentVolumeClaim"}
_VARIABLES = {
    "configMapKeyRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "configMapRef": "ConfigMap",
    "secretRef": "Secret",
}
_NAMES = ("secretName", "claimName", "name")


class NamedObject(NamedTuple):
    """An object that a pod names. keys: the entries that it reads; empty if it reads all of them. place: the field that
    names it, by names. as_files: the pod mounts it."""

    kind: str
    name: str
    keys: tuple[str, ...]
    place: tuple[str, ...]
    optional: bool
    as_files: bool


def named_objects(spec: Mapping[str, Any]) -> Iterator[NamedObject]:
    """Yield the objects that the spec of a pod names."""
    for field in CONTAINER_FIELDS:
        for container in mappings(spec.get(field)):
            above = ("spec", field, str(container.get("name")))
            for variable in mappings(container.get("env")):
                yield from _named(variable.get("valueFrom"), _VARIABLES, (*above, "env", str(variable.get("name"))))
            for source in mappings(container.get("envFrom")):
                yield from _named(source, _VARIABLES, (*above, "envFrom"))
    for volume in mappings(spec.get("volumes")):
        for source in (volume, *mappings(mapping(volume.get("projected")).get("sources"))):
            yield from _named(source, _VOLUMES, ("spec", "volumes", str(volume.get("name"))))


def _named(source: Any, kinds: Mapping[str, str], place: tuple[str, ...]) -> Iterator[NamedObject]:
    for field, kind in kinds.items():
        named = mapping(mapping(source).get(field))
        name = next((named[word] for word in _NAMES if named.get(word)), None)
        if isinstance(name, str):
            keys = tuple(str(item["key"]) for item in (named, *mappings(named.get("items"))) if item.get("key"))
            yield NamedObject(kind, name, keys, place, bool(named.get("optional")), kinds is _VOLUMES)
