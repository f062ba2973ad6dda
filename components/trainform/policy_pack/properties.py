"""From the properties of a resource, as the policy SDK gives them, to the object that Kubernetes would be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from trainform.policy_pack.unknown import UNKNOWN, PartlyKnown, PartlyKnownList

PROVIDER = "kubernetes:"
CHARTS = ("kubernetes:helm.sh/v3:Release",)
"""Types of resources whose objects the engine never sees: their provider makes them by itself."""

CLUSTERS = ("pulumi:providers:kubernetes",)
"""Types of resources that say in which cluster others are made."""


def kubernetes_object(type_: str, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """The object of the resource; None if the resource is none of Kubernetes. `apiVersion` and `kind` follow from the type where a program leaves
    them out or where they are not known yet."""
    body: dict[str, Any] = plain(properties)
    of_type = _by_type(type_)
    if of_type is None and not {"apiVersion", "kind"} <= body.keys():
        return None
    for key, value in () if of_type is None else of_type.items():
        if not isinstance(dict.get(body, key), str):
            dict.__setitem__(body, key, value)
    return body


def is_patch(type_: str) -> bool:
    """True if the resource changes parts of an object that somebody else owns (`DeploymentPatch`)."""
    return type_.startswith(PROVIDER) and type_.endswith("Patch")


def _by_type(type_: str) -> dict[str, str] | None:
    """`apiVersion` and `kind` from a type such as `kubernetes:apps/v1:Deployment`."""
    provider, _, rest = type_.partition(":")
    version, _, kind = rest.rpartition(":")
    if f"{provider}:" != PROVIDER or "/" not in version or type_ in CHARTS:
        return None
    kind = kind.removesuffix("Patch") if is_patch(type_) else kind
    return {"apiVersion": version.removeprefix("core/"), "kind": kind}


def plain(value: Any, place: tuple[str, ...] = ()) -> Any:
    """The value in plain types. Null is left out, as Kubernetes does; a whole number is an `int`; unknown values stay unknown."""
    if isinstance(value, Mapping):
        read = {str(key): _read(value, key, (*place, str(key))) for key in value}
        kept = {key: item for key, item in read.items() if item is not None}
        return PartlyKnown(kept, place) if any(item is UNKNOWN for item in kept.values()) else kept
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = [_read(value, index, (*place, str(index))) for index in range(len(value))]
        return PartlyKnownList(items, place) if any(item is UNKNOWN for item in items) else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _read(holder: Any, key: Any, place: tuple[str, ...]) -> Any:
    try:
        value = holder[key]
    except UnknownValueError:
        return UNKNOWN
    return plain(value, place)
