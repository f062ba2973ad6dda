"""Differences between a live object and what was applied last, their writers, and fields of others. Pure functions.

Fields that the applied object does not have belong to others: defaults, controllers, webhooks, annotations of tools.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.console.secrets import masked
from trainform.manifests.differences import Difference, Keys, differences
from trainform.manifests.manifest import mapping, mappings, quantity

# Fields whose texts are quantities, at any depth below them: another spelling is the same amount.
AMOUNTS = frozenset(
    {"requests", "limits", "capability", "deserved", "guarantee", "minResources", "resourcesPerNode", "sizeLimit"}
)
# Fields that identify an item of a list, tried in this order.
KEYS = ("mountPath", "name", "containerPort", "port", "key")
NOT_OURS = ("pulumi.com/", "kubectl.kubernetes.io/last-applied-configuration")
"""Prefixes of annotations that tools keep for themselves."""
SWITCHED_BY_KUEUE = frozenset({"spec.suspend", "spec.runPolicy.suspend"})
"""Kueue suspends and resumes a job with these fields."""
SECRETS = "Secret"
TYPE_FIELDS, METADATA = frozenset({"apiVersion", "kind"}), "metadata"
SERVER_FIELDS = frozenset({"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"})
"""Fields of `metadata` that only the API server writes."""
CLUSTER_MANAGERS = frozenset({"kube-controller-manager", "kube-scheduler", "kube-apiserver"})
"""Managers that are parts of Kubernetes. They also scale for an autoscaler."""
STORAGE_ANNOTATIONS = ("pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")
"""Prefixes of annotations with which controllers and schedulers bind a claim."""
STATUS, SCALE = "status", "scale"
NOT_READ = "(not read)"
"""Placeholder of a secret value, which is not read."""
LENGTH_OF_DAY = len("2026-01-01")
UNITS = (("d", 24 * 3600), ("h", 3600), ("min", 60), ("s", 1))
Path = tuple[str, ...]


class Drift(Struct, frozen=True):
    """A field of a live object that differs from what was applied last. manager, written: the last
    writer and the time (RFC 3339); both are "" if unknown, for example after the field was removed."""

    kind: str
    name: str
    path: str
    applied: object
    live: object
    manager: str
    written: str


def drift_of(applied: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Drift]:
    """Return the fields of the applied object that differ in the live one."""
    kind = str(applied.get("kind", ""))
    ours = _drop_tool_fields({
        field: value
        for field, value in applied.items()
        if field not in TYPE_FIELDS and (kind != SECRETS or field == METADATA)  # of a Secret nothing else is read
    })  # fmt: skip
    found = [
        each
        for each in differences(ours, live, _same)
        # an item more is ours only in a list without names; the provider's own inputs begin with `__`
        if (each.before is not None or isinstance(each.keys[-1], int))
        and not any(str(key).startswith("__") for key in each.keys)
    ]
    return (drift for _, drift in _drifts(found, applied, live))


def drift_from(answer: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[tuple[Path, Drift]]:
    """Return the fields that would change if the object was applied again, also items and fields of others that would
    go. answer: what the API server says the object would be."""
    after, before = _drop_tool_fields(_drop_server_fields(answer)), _drop_tool_fields(_drop_server_fields(live))
    return _drifts(differences(after, before, _same), answer, live)


def _drifts(
    found: Iterable[Difference], applied: Mapping[str, Any], live: Mapping[str, Any]
) -> Iterator[tuple[Path, Drift]]:
    """Return each difference with its last writer. A list without names is one value: its items may be secrets."""
    kind, name, entries = str(applied.get("kind", "")), _name(applied), _entries(live)
    values = dict[Path, tuple[Any, Any]]()
    for each in found:
        index = next((index for index, key in enumerate(each.keys) if isinstance(key, int)), None)
        path = tuple(map(str, each.keys[:index]))
        values[path] = (each.before, each.after) if index is None else (value_at(applied, path), value_at(live, path))
    for path, (before, now) in values.items():
        if ".".join(path) not in SWITCHED_BY_KUEUE:
            manager, written = last_write(entries, path, live)
            yield path, Drift(kind, name, ".".join(path), _shown(path, before), _shown(path, now), manager, written)


def written_by_others(keys: Sequence[str], body: Mapping[str, Any], ours: Callable[[str], bool]) -> Iterator[Drift]:
    """Yield the entries of `data` that are no longer ours, by `managedFields` alone: no value is read."""
    kind, name, entries = str(body.get("kind", "")), _name(body), _entries(body)
    for key in keys:
        owners = [entry for entry in entries if _owns(entry.get("fieldsV1"), ("data", key), None)]
        if not any(ours(str(entry.get("manager", ""))) for entry in owners):
            manager, written = last_write(owners, ("data", key))
            yield Drift(kind, name, f"data.{key}", NOT_READ, NOT_READ if owners else None, manager, written)


def fields_of_others(live: Mapping[str, Any], ours: Callable[[str], bool]) -> Iterator[tuple[Path, Drift]]:
    """Yield path and drift of each field with another writer than trainform, the object's controller and Kubernetes.

    Values of Secrets are masked. Annotations that tools keep for themselves are left out.
    """
    kind, name, entries = str(live.get("kind", "")), _name(live), _entries(live)
    without = {*CLUSTER_MANAGERS, *(str(entry.get("manager", "")) for entry in entries if _writes_status(entry))}
    for entry in entries:
        manager = str(entry.get("manager", ""))
        if ours(manager) or manager in without or entry.get("subresource") == STATUS:
            continue
        for path in _leaves(entry.get("fieldsV1"), (), live):
            noted = path[:2] == (METADATA, "annotations") and path[-1].startswith((*NOT_OURS, *STORAGE_ANNOTATIONS))
            value = value_at(live, path)
            if not noted and value is not None and ".".join(path) not in SWITCHED_BY_KUEUE:
                shown = NOT_READ if kind == SECRETS and path[0] != METADATA else _shown(path, value)
                time = str(entry.get("time", ""))
                yield path, Drift(kind, name, ".".join(path), None, shown, manager, time)


def is_scaled(live: Mapping[str, Any], path: str) -> bool:
    """Return True if an autoscaler has written the field, through the subresource `scale`."""
    last = _last_entry(_entries(live), tuple(path.split(".")), live)
    return last.get("subresource") == SCALE and last.get("manager") in CLUSTER_MANAGERS


def _name(body: Mapping[str, Any]) -> str:
    return str(mapping(body.get("metadata")).get("name", ""))


def _entries(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of `managedFields`."""
    return mappings(mapping(live.get("metadata")).get("managedFields"))


def value_at(value: Any, path: Path) -> Any:
    """Return the value at the path; None if there is none."""
    for part in path:
        if isinstance(value, list):
            value = next((item for item in value if _is_item(item, part)), None)
        else:
            value = mapping(value).get(part)
    return value


def _is_item(item: Any, part: str) -> bool:
    return part in _names(item) if isinstance(item, Mapping) else str(item) == part


def _writes_status(entry: Mapping[str, Any]) -> bool:
    return entry.get("subresource") == STATUS or f"f:{STATUS}" in mapping(entry.get("fieldsV1"))


def _leaves(fields: Any, path: Path, live: Any) -> Iterator[Path]:
    """Yield the paths in a set of fields. An item with a key is one path."""
    for key, inner in mapping(fields).items():
        kind, _, name = key.partition(":")
        if kind == "f":
            part, value = name, mapping(live).get(name)
        elif kind == "k" and (names := _names(_item(key, live))):
            part, value = names[0], _item(key, live)
        elif kind == "v":
            part, value = name.strip('"'), None
        else:
            continue
        if not set(mapping(inner)) - {"."} or (kind == "k" and "." in mapping(inner)):
            yield (*path, part)
        else:
            yield from _leaves(inner, (*path, part), value)


def _drop_server_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {field: value for field, value in mapping(body.get(METADATA)).items() if field not in SERVER_FIELDS}
    rest = {field: value for field, value in body.items() if field not in {*TYPE_FIELDS, STATUS, METADATA}}
    return {METADATA: metadata, **rest}


def _drop_tool_fields(body: dict[str, Any]) -> dict[str, Any]:
    metadata = mapping(body.get("metadata"))
    annotations = {
        name: value for name, value in mapping(metadata.get("annotations")).items() if not name.startswith(NOT_OURS)
    }
    # the namespace of a kind that has none is filled in by the provider alone
    kept = {field: value for field, value in metadata.items() if field not in ("annotations", "namespace", "name")}
    return {**body, "metadata": {**kept, "annotations": annotations}}


def _same(keys: Keys, one: Any, other: Any) -> bool:
    """Return True for two spellings of one amount, and for an empty value that the other side leaves out."""
    if one is None or other is None:
        return _is_empty(one) and _is_empty(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, str) and isinstance(other, str) and AMOUNTS.isdisjoint(keys):
        return False
    amount = quantity(one)
    return amount is not None and amount == quantity(other)


def _is_empty(value: Any) -> bool:
    """Return True if the value is the same as no value."""
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value in (None, "", 0, False) or value == []


def _shown(path: Path, value: Any) -> Any:
    """Return the value as a report may show it."""
    names = path[-2:] if path[-1:] == ("value",) else path[-1:]
    return masked(value, names[0] if names else "")


def last_write(entries: Sequence[Mapping[str, Any]], path: Path, live: Any = None) -> tuple[str, str]:
    """Return the manager of the field and the time of its last write, by `managedFields`; empty if it has no manager.
    live: the object, whose lists may identify items by other fields than `managedFields` does."""
    last = _last_entry(entries, path, live)
    return str(last.get("manager", "")), str(last.get("time", ""))


def _last_entry(entries: Sequence[Mapping[str, Any]], path: Path, live: Any) -> Mapping[str, Any]:
    owning = (entry for entry in entries if _owns(entry.get("fieldsV1"), path, live))
    return max(owning, key=lambda entry: str(entry.get("time", "")), default={})


def _owns(fields: Any, path: Path, live: Any) -> bool:
    """Return True if the set of fields contains the path, or a value around it that is written as a whole."""
    if not isinstance(fields, Mapping):
        return False
    if not path:
        return True
    for key, inner in fields.items():
        if key.startswith("k:"):
            item = _item(key, live)
            if path[0] in _names(item):
                return not inner or _owns(inner, path[1:], item)
        elif key == f"f:{path[0]}":
            return not inner or _owns(inner, path[1:], mapping(live).get(path[0]))
    return False


def _item(key: str, items: Any) -> Mapping[str, Any]:
    """Return the item that `k:{"port":22,"protocol":"TCP"}` selects; without such an item, the values of the key."""
    try:
        values = mapping(json.loads(key.removeprefix("k:")))
    except ValueError:
        return {}
    listed = items if isinstance(items, list) else []
    fitting = (each for each in listed if isinstance(each, Mapping) and values.items() <= _plain(each).items())
    return next(fitting, values)


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if isinstance(value, str | int)}


def _names(item: Mapping[str, Any]) -> list[str]:
    """Return the values that identify an item, the preferred one first."""
    return [str(item[key]) for key in KEYS if key in item]


def writer(manager: str, written: str, read_at: str) -> str:
    """Return `manager kubectl-edit, last write 14:02 UTC`."""
    if not manager:
        return "the field has no manager any more"
    return f"manager {manager}, last write {clock(written, read_at)}" if written else f"manager {manager}"


def clock(at: str, now: str) -> str:
    """Return a time (RFC 3339) for people, with the day unless it is that of now: `14:02 UTC`."""
    day, time = at[:LENGTH_OF_DAY], f"{at[LENGTH_OF_DAY + 1 : LENGTH_OF_DAY + 6]} UTC"
    return time if day == now[:LENGTH_OF_DAY] else f"{day} {time}"


def utc_now() -> str:
    """Return the time in UTC, to the second (RFC 3339)."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age(since: str, now: str) -> str:
    """Return the time between two moments in its largest unit: `40 s`, `16 h`; "" if one of them cannot be read."""
    seconds = seconds_between(since, now)
    if seconds is None:
        return ""
    return next((f"{seconds // size} {unit}" for unit, size in UNITS if seconds >= 2 * size), f"{seconds} s")


def seconds_between(start: str, end: str) -> int | None:
    """Return the seconds between two times in RFC 3339; None if one of them cannot be read."""
    try:
        begun, ended = map(datetime.datetime.fromisoformat, (start, end))
        return max(0, int((ended - begun).total_seconds()))
    except (TypeError, ValueError):
        return None
