"""What a pod may read: its own fields (the downward API), and the ConfigMaps and Secrets of its namespace."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from trainform.rehearsal.stage import Stage, pod_name

_KEYED = re.compile(r"metadata\.(?P<field>labels|annotations)\['(?P<key>[^']+)'\]")
DEFAULT_ACCOUNT = "default"  # Kubernetes' name for the service account of pods that name none


class UnknownSourceError(Exception):
    """Something that a pod reads is not there; `fix` says what to do."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a pod runs. Here a node is a network namespace, so the pod's address and its node's are the same."""

    node: str
    ip: str


@dataclasses.dataclass(frozen=True)
class Sources:
    """Everything that the values of one pod may come from."""

    stage: Stage
    pod: dict[str, Any]
    place: Place

    def field(self, path: str) -> str:
        """A field of the pod as text; a label or annotation that is not there is empty, as with the kubelet."""
        keyed = _KEYED.fullmatch(path)
        metadata = self.pod["metadata"]
        if keyed is not None:
            return str(metadata.get(keyed["field"], {}).get(keyed["key"], ""))
        if path in _LISTED:
            entries = metadata.get(path.partition(".")[2], {})
            return "\n".join(f"{key}={_quoted(value)}" for key, value in sorted(entries.items()))
        if path not in _FIELDS:
            raise UnknownSourceError(
                f"the field {path} is not known here", f"use one of {', '.join(_FIELDS)}, or a label"
            )
        return _FIELDS[path](self)

    def config_map(self, name: str, optional: bool) -> Mapping[str, bytes]:
        """The data of a ConfigMap; nothing where it is missing and may be."""
        data = self.stage.config_maps.get(name)
        if data is None and not optional:
            raise _missing("ConfigMap", name)
        return {} if data is None else {key: value.encode() for key, value in data.items()}

    def secret(self, name: str, optional: bool) -> Mapping[str, bytes]:
        """The data of a Secret; nothing where it is missing and may be."""
        data = self.stage.secrets.get(name)
        if data is None and not optional:
            raise _missing("Secret", name)
        return {} if data is None else data


def value_of(data: Mapping[str, bytes], key: str, name: str, optional: bool) -> bytes | None:
    """One key; None where it is missing and may be."""
    if key in data:
        return data[key]
    if optional:
        return None
    known = ", ".join(sorted(data)) if data else "none"
    raise UnknownSourceError(f"{name} has no key {key}", f"keys are: {known}")


def _missing(kind: str, name: str) -> UnknownSourceError:
    return UnknownSourceError(f"there is no {kind} {name}", f"create the {kind}, or mark the reference as optional")


def _uid(sources: Sources) -> str:
    # a pod that no API server has seen has none yet; the same pod gets the same one in every rehearsal
    uid = sources.pod["metadata"].get("uid")
    name = f"{sources.stage.namespace}/{pod_name(sources.pod)}"
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name) if uid is None else uid)


def _account(sources: Sources) -> str:
    return str(sources.pod["spec"].get("serviceAccountName", DEFAULT_ACCOUNT))


_FIELDS: dict[str, Callable[[Sources], str]] = {
    "metadata.name": lambda sources: pod_name(sources.pod),
    "metadata.namespace": lambda sources: sources.stage.namespace,
    "metadata.uid": _uid,
    "spec.nodeName": lambda sources: sources.place.node,
    "spec.serviceAccountName": _account,
    "status.podIP": lambda sources: sources.place.ip,
    "status.podIPs": lambda sources: sources.place.ip,
    "status.hostIP": lambda sources: sources.place.ip,
    "status.hostIPs": lambda sources: sources.place.ip,
}
_LISTED = frozenset({"metadata.labels", "metadata.annotations"})  # whole, as files of a downward API volume


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
