"""The ConfigMaps and Secrets to which pods refer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from trainform.rehearsal.kubelet.volumes import holds_token
from trainform.rehearsal.workload import containers

CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_ENV = {"configMapKeyRef": CONFIG_MAP, "secretKeyRef": SECRET}
_ENV_FROM = {"configMapRef": CONFIG_MAP, "secretRef": SECRET}
_VOLUMES = {"configMap": CONFIG_MAP, "secret": SECRET}


class Reference(Struct, frozen=True):
    """A reference to an object, by kind and name. keys: the keys that are read; empty where all of them are."""

    kind: str
    name: str
    keys: tuple[str, ...]
    optional: bool


def references(pods: Iterable[dict[str, Any]]) -> Iterator[Reference]:
    """Every reference in the pods' containers and volumes."""
    for pod in pods:
        for container in containers(pod):
            for entry in container.get("envFrom", []):
                yield from _named(entry, _ENV_FROM)
            for entry in container.get("env", []):
                yield from _named(entry.get("valueFrom", {}), _ENV)
        for volume in pod["spec"].get("volumes", []):
            if not holds_token(volume):
                yield from _named(volume, _VOLUMES)
                for source in volume.get("projected", {}).get("sources", []):
                    yield from _named(source, _VOLUMES)


def _named(entry: dict[str, Any], kinds: dict[str, str]) -> Iterator[Reference]:
    for field, kind in kinds.items():
        if field in entry:
            reference = entry[field]
            name = reference["secretName"] if "secretName" in reference else reference["name"]
            keys = (
                (reference["key"],) if "key" in reference else tuple(item["key"] for item in reference.get("items", []))
            )
            yield Reference(kind, name, keys, reference.get("optional", False))
