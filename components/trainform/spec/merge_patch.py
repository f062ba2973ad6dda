"""JSON merge patches (RFC 7386). In addition, a mapping patches the items of a list by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with the patch applied, as a new value. null removes a key, and a list replaces a list.

    A mapping patches the items of a list by their `name`: null removes one, and a new name appends one. (RFC 7386 would
    replace the list by the mapping, which no field of Kubernetes accepts.)
    """
    if not isinstance(patch, dict):
        return patch
    if named_items(target) or (target == [] and _are_items(patch)):
        return _patch_items(target, patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def named_items(target: Any) -> bool:
    """Return True for a list whose items all have a name."""
    items = target if isinstance(target, list) else []
    return bool(items) and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items)


def _are_items(patch: dict[str, Any]) -> bool:
    return all(value is None or isinstance(value, dict) for value in patch.values())


def _patch_items(items: list[dict[str, Any]], patch: dict[str, Any]) -> list[dict[str, Any]]:
    patched = [
        merge_patch(item, patch[item["name"]]) if item["name"] in patch else item
        for item in items
        if patch.get(item["name"], item) is not None
    ]
    known = {item["name"] for item in items}
    added = [
        merge_patch({"name": name}, value) for name, value in patch.items() if name not in known and value is not None
    ]
    return patched + added


def patched_paths(patch: Any, path: str) -> Iterator[str]:
    """Yield the paths that a merge patch at `path` sets; a list is replaced as a whole."""
    if isinstance(patch, dict) and patch:
        for key, part in patch.items():
            yield from patched_paths(part, f"{path}.{key}")
    else:
        yield path
