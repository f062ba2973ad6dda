"""What of a live object differs from what was applied last, and who wrote it. Pure functions of the two objects.

What the applied object does not have belongs to somebody else: defaults, fields of controllers and webhooks, annotations of tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainform.cluster.facts import Drift
from trainform.errors import MASK
from trainform.manifests.shapes import mapping, mappings, quantity
from trainform.secret_text.search import looks_secret, secret_in

# Fields whose texts are quantities, at any depth below them: another spelling is the same amount.
AMOUNTS = frozenset(
    {"requests", "limits", "capability", "deserved", "guarantee", "minResources", "resourcesPerNode", "sizeLimit"}
)
# By which field the items of a list are told apart, tried in this order.
KEYS = ("name", "mountPath", "containerPort", "port", "key")
NOT_OURS = ("pulumi.com/", "kubectl.kubernetes.io/last-applied-configuration")
"""How annotations begin that tell a tool something, and are nothing of the object."""
SWITCHED_BY_KUEUE = frozenset({"spec.suspend", "spec.runPolicy.suspend"})
"""Kueue holds a job back and lets it go with these fields."""
SECRETS = "Secret"
OF_TYPE, METADATA = frozenset({"apiVersion", "kind"}), "metadata"
Path = tuple[str, ...]


def drift_of(applied: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Drift]:
    """The fields of the applied object that are otherwise in the live one, in the order of the applied object."""
    kind, name = str(applied.get("kind", "")), str(mapping(applied.get("metadata")).get("name", ""))
    entries = mappings(mapping(live.get("metadata")).get("managedFields"))
    # of a Secret nothing else is read
    ours = {
        field: value
        for field, value in applied.items()
        if field not in OF_TYPE and (kind != SECRETS or field == METADATA)
    }
    for path, before, now in _differences(_without_tools(ours), live, ()):
        if ".".join(path) in SWITCHED_BY_KUEUE:
            continue
        manager, written = last_write(entries, path)
        yield Drift(kind, name, ".".join(path), _shown(path, before), _shown(path, now), manager, written)


def _without_tools(body: dict[str, Any]) -> dict[str, Any]:
    metadata = mapping(body.get("metadata"))
    annotations = {
        name: value for name, value in mapping(metadata.get("annotations")).items() if not name.startswith(NOT_OURS)
    }
    # the namespace of a kind that has none is filled in by the provider alone
    kept = {field: value for field, value in metadata.items() if field not in ("annotations", "namespace", "name")}
    return {**body, "metadata": {**kept, "annotations": annotations}}


def _differences(applied: Any, live: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Path, applied value and live value of each field that differs."""
    if isinstance(applied, Mapping):
        if not isinstance(live, Mapping):
            if not _is_empty(applied):
                yield path, applied, live
            return
        for field, value in applied.items():
            if not field.startswith("__"):  # the provider's own inputs
                yield from _differences(value, live.get(field), (*path, field))
    elif isinstance(applied, list):
        yield from _items(applied, live, path)
    elif not _same(applied, live, path):
        yield path, applied, live


def _items(applied: list[Any], live: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """The same of lists: items with a key are compared with the live item of that key, and a live item more is somebody else's."""
    if not isinstance(live, list):
        if applied:
            yield path, applied, live
        return
    key = next((key for key in KEYS if _has_key(applied, key) and _has_key(live, key)), None)
    if key is not None:
        there = {str(item[key]): item for item in live}
        for item in applied:
            yield from _differences(item, there.get(str(item[key])), (*path, str(item[key])))
    elif len(applied) == len(live) and any(isinstance(item, Mapping) for item in applied):
        for index, (item, other) in enumerate(zip(applied, live, strict=True)):
            yield from _differences(item, other, (*path, str(index)))
    elif len(applied) != len(live) or not all(map(_same, applied, live, [path] * len(live))):
        yield path, applied, live


def _has_key(items: Sequence[Any], key: str) -> bool:
    values = [str(item[key]) for item in items if isinstance(item, Mapping) and key in item]
    return bool(items) and len(values) == len(items) == len(set(values))


def _same(applied: Any, live: Any, path: Path) -> bool:
    if applied == live and isinstance(applied, bool) == isinstance(live, bool):
        return True
    if live is None:
        return _is_empty(applied)  # the API server leaves out what is empty
    if isinstance(applied, bool) or isinstance(live, bool):
        return False
    if isinstance(applied, str) and isinstance(live, str) and AMOUNTS.isdisjoint(path):
        return False
    amount = quantity(applied)
    return amount is not None and amount == quantity(live)


def _is_empty(value: Any) -> bool:
    """True if the value says no more than its absence."""
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value in (None, "", 0, False) or value == []


def _shown(path: Path, value: Any) -> Any:
    """The value as a report may show it: without what looks like a secret by its name, or by its shape."""
    if isinstance(value, Mapping):
        name = value.get("name")
        return {
            key: _shown((*path, *([name] if isinstance(name, str) else []), str(key)), item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_shown(path, item) for item in value]
    if not isinstance(value, str):
        return value
    secret = any(looks_secret(name, value) for name in path[-2:]) or secret_in(value) is not None
    return MASK if secret else value


def last_write(entries: Sequence[Mapping[str, Any]], path: Path) -> tuple[str, str]:
    """The manager of the field and the time of its last write, by `managedFields`; empty texts if nobody manages it."""
    owning = [entry for entry in entries if _owns(entry.get("fieldsV1"), path)]
    last = max(owning, key=lambda entry: str(entry.get("time", "")), default=None)
    return ("", "") if last is None else (str(last.get("manager", "")), str(last.get("time", "")))


def _owns(fields: Any, path: Path) -> bool:
    """True if the set of fields has the one at the path, or a value that is written as a whole and holds it."""
    if not isinstance(fields, Mapping):
        return False
    if not path:
        return True
    for key, inner in fields.items():
        if key == f"f:{path[0]}" or (key.startswith("k:") and _item_key(key) == path[0]):
            return not inner or _owns(inner, path[1:])
    return False


def _item_key(key: str) -> str:
    """The value by which `k:{"name":"main"}` tells an item apart."""
    try:
        values = json.loads(key.removeprefix("k:"))
    except ValueError:
        return ""
    found = [str(values[name]) for name in KEYS if name in values] if isinstance(values, dict) else []
    return found[0] if found else ""
