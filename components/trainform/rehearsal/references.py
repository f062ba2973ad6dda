"""Which ConfigMaps and Secrets pods name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from trainform.rehearsal.stage import containers
from trainform.rehearsal.volumes import holds_token

CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_ENV = {"configMapKeyRef": CONFIG_MAP, "secretKeyRef": SECRET}
_ENV_FROM = {"configMapRef": CONFIG_MAP, "secretRef": SECRET}
_VOLUMES = {"configMap": CONFIG_MAP, "secret": SECRET}


@dataclasses.dataclass(frozen=True)
class Reference:
    """An object by kind and name, and the keys of it that are asked for (none: all that are there)."""

    kind: str
    name: str
    keys: tuple[str, ...]
    optional: bool


def references(pods: Iterable[dict[str, Any]]) -> Iterator[Reference]:
    """Every reference of the pods' containers and volumes."""
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
            said = entry[field]
            name = said["secretName"] if "secretName" in said else said["name"]
            keys = (said["key"],) if "key" in said else tuple(item["key"] for item in said.get("items", []))
            yield Reference(kind, name, keys, said.get("optional", False))
