"""The Kubernetes object in the properties of a resource, as the policy SDK passes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

PROVIDER = "kubernetes:"
CLUSTERS = "pulumi:providers:kubernetes"
"""The type of Kubernetes providers, whose settings name the cluster."""
NAMING = ("apiVersion", "kind")
UNKNOWN = "(known only at `pulumi up`)"
"""Placeholder of a value that is unknown in a preview."""


def kubernetes_object(type_: str, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the object of the resource; None if the resource is not an object of Kubernetes. Missing `apiVersion` and
    `kind` are taken from the type, such as `kubernetes:apps/v1:Deployment`."""
    version, _, kind = type_.removeprefix(PROVIDER).rpartition(":")
    if not type_.startswith(PROVIDER) or "/" not in version:
        return None
    given = {key: value for key, value in plain(properties).items() if value != UNKNOWN or key not in NAMING}
    return {"apiVersion": version.removeprefix("core/"), "kind": kind, **given}


def plain(value: Any) -> Any:
    """Return the value in plain types: no null, whole numbers as `int`, `UNKNOWN` for unknown values."""
    if isinstance(value, Mapping):
        read = {str(key): _read(value, key) for key in value}
        return {key: item for key, item in read.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_read(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _read(holder: Any, key: Any) -> Any:
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN


def unknown_places(value: Any, path: str = "") -> list[str]:
    """Return the paths of all unknown values in plain data."""
    if value == UNKNOWN:
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in unknown_places(item, f"{path}.{key}" if path else str(key))]
