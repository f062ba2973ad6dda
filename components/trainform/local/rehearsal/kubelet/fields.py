"""The values that a pod may read: its own fields, and the ConfigMaps and Secrets of its namespace."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trainform.errors import TrainformError
from trainform.local.rehearsal.workload import Workload, pod_name

_KEYED = re.compile(r"metadata\.(?P<field>labels|annotations)\['(?P<key>[^']+)'\]")
DEFAULT_ACCOUNT = "default"  # Kubernetes' name for the service account of pods that name none


class UnknownSourceError(TrainformError):
    """A source that a pod reads does not exist."""


class Place(Struct, frozen=True):
    """The node and the address of a pod, which are the same for both: in a rehearsal a node is a network namespace."""

    node: str
    ip: str


class Sources(Struct, frozen=True):
    """The sources of values for one pod."""

    workload: Workload
    pod: dict[str, Any]
    place: Place

    def field(self, path: str) -> str:
        """Return a field of the pod; "" for a missing label or annotation. UnknownSourceError for other fields."""
        keyed = _KEYED.fullmatch(path)
        metadata = self.pod["metadata"]
        if keyed is not None:
            return str(metadata.get(keyed["field"], {}).get(keyed["key"], ""))
        if path not in _FIELDS:
            raise UnknownSourceError(
                f"the field {path} is not known here", f"use one of {', '.join(_FIELDS)}, or a label"
            )
        return _FIELDS[path](self)

    def config_map(self, name: str, optional: bool) -> Mapping[str, bytes]:
        """Return the data of a ConfigMap; empty if it is optional and missing. Else UnknownSourceError."""
        data = _found("ConfigMap", self.workload.config_maps, name, optional)
        return {key: value.encode() for key, value in data.items()}

    def secret(self, name: str, optional: bool) -> Mapping[str, bytes]:
        """Return the data of a Secret; empty if it is optional and missing. Else UnknownSourceError."""
        return _found("Secret", self.workload.secrets, name, optional)


def value_of(data: Mapping[str, bytes], key: str, name: str, optional: bool) -> bytes | None:
    """Return the value of a key; None if it is optional and missing. Else UnknownSourceError."""
    if key in data:
        return data[key]
    if optional:
        return None
    known = ", ".join(sorted(data)) if data else "none"
    raise UnknownSourceError(f"{name} has no key {key}", f"keys are: {known}")


def _found(kind: str, known: Mapping[str, Any], name: str, optional: bool) -> Mapping[str, Any]:
    if name not in known and not optional:
        raise UnknownSourceError(f"there is no {kind} {name}", f"create the {kind}, or mark the reference as optional")
    data: Mapping[str, Any] = known.get(name, {})
    return data


def _uid(sources: Sources) -> str:
    # an API server has given no uid to a pod of a plan; the same pod gets the same uid in every rehearsal
    uid = sources.pod["metadata"].get("uid")
    name = f"{sources.workload.namespace}/{pod_name(sources.pod)}"
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name) if uid is None else uid)


def _account(sources: Sources) -> str:
    return str(sources.pod["spec"].get("serviceAccountName", DEFAULT_ACCOUNT))


_FIELDS: dict[str, Callable[[Sources], str]] = {
    "metadata.name": lambda sources: pod_name(sources.pod),
    "metadata.namespace": lambda sources: sources.workload.namespace,
    "metadata.uid": _uid,
    "spec.nodeName": lambda sources: sources.place.node,
    "spec.serviceAccountName": _account,
    "status.podIP": lambda sources: sources.place.ip,
    "status.podIPs": lambda sources: sources.place.ip,
    "status.hostIP": lambda sources: sources.place.ip,
    "status.hostIPs": lambda sources: sources.place.ip,
}
