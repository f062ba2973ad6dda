"""The environment of a container as the kubelet makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainform.errors import InputError, Problem
from trainform.local.rehearsal.kubelet.fields import Sources, UnknownSourceError, value_of
from trainform.local.rehearsal.workload import pod_name
from trainform.plan.variables import expanded

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
