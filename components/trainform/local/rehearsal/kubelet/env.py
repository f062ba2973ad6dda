"""The environment of a container as the kubelet makes it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trainform.errors import InputError, Problem, TrainformError
from trainform.local.rehearsal.workload import Workload, pod_name
from trainform.plan.variables import expanded

_KEYED = re.compile(r"metadata\.(?P<field>labels|annotations)\['(?P<key>[^']+)'\]")


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


_FIELDS: dict[str, Callable[[Sources], str]] = {
    "metadata.name": lambda sources: pod_name(sources.pod),
    "metadata.namespace": lambda sources: sources.workload.namespace,
    # the same in every rehearsal of a plan, whose pods have none from an API server
    "metadata.uid": lambda sources: str(
        sources.pod["metadata"].get("uid", uuid.uuid5(uuid.NAMESPACE_DNS, pod_name(sources.pod)))
    ),
    "spec.nodeName": lambda sources: sources.place.node,
    "spec.serviceAccountName": lambda sources: str(sources.pod["spec"].get("serviceAccountName", "default")),
    "status.podIP": lambda sources: sources.place.ip,
    "status.podIPs": lambda sources: sources.place.ip,
    "status.hostIP": lambda sources: sources.place.ip,
    "status.hostIPs": lambda sources: sources.place.ip,
}


Read = Callable[[str, bool], Mapping[str, bytes]]


def container_env(sources: Sources, container: dict[str, Any]) -> dict[str, str]:
    """Return the container's variables: the last one of a name wins. InputError with every missing source."""
    env: dict[str, str] = {}
    problems: list[Problem] = []
    path = f"pods.{pod_name(sources.pod)}.{container['name']}"
    for index, entry in enumerate(container.get("envFrom", [])):
        try:
            env |= _all_keys(sources, entry)
        except UnknownSourceError as error:
            problems.append(Problem(f"{path}.envFrom[{index}]", None, error.message, error.fix))
    for entry in container.get("env", []):
        try:
            value = _value(sources, entry, env)
        except UnknownSourceError as error:
            problems.append(Problem(f"{path}.env.{entry['name']}", None, error.message, error.fix))
            continue
        if value is not None:
            env[entry["name"]] = value
    if problems:
        raise InputError(problems)
    return env


def _all_keys(sources: Sources, entry: dict[str, Any]) -> dict[str, str]:
    """Return a variable for each key of a ConfigMap or Secret, with the prefix before its name."""
    prefix = entry.get("prefix", "")
    if "secretRef" in entry:
        reference, read = entry["secretRef"], sources.secret
    else:
        reference, read = entry["configMapRef"], sources.config_map
    data = read(reference["name"], reference.get("optional", False))
    return {f"{prefix}{key}": _text(value) for key, value in data.items()}


def _value(sources: Sources, entry: dict[str, Any], before: Mapping[str, str]) -> str | None:
    """Return the value of the variable, None if its source is optional and missing."""
    origin = entry.get("valueFrom")
    if not origin:
        return expanded(entry.get("value", ""), before)
    kind, reference = next(iter(origin.items()))
    if kind not in _ORIGINS:
        raise UnknownSourceError(
            f"comes from a {kind}, which a rehearsal does not know", "rehearse without it, or write the value itself"
        )
    return _ORIGINS[kind](sources, reference)


def _read_key(kind: str, read: Read, reference: dict[str, Any]) -> str | None:
    optional = reference.get("optional", False)
    value = value_of(read(reference["name"], optional), reference["key"], f"{kind} {reference['name']}", optional)
    return None if value is None else _text(value)


_ORIGINS: dict[str, Callable[[Sources, dict[str, Any]], str | None]] = {
    "fieldRef": lambda sources, reference: sources.field(reference["fieldPath"]),
    "configMapKeyRef": lambda sources, reference: _read_key("ConfigMap", sources.config_map, reference),
    "secretKeyRef": lambda sources, reference: _read_key("Secret", sources.secret, reference),
}


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
