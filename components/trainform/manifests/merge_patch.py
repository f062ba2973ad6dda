"""RFC 7386, with one addition for Kubernetes: a list of named items may be patched as a mapping of their names."""

from __future__ import annotations

from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch applied; neither is changed. null removes a key, a list replaces a list.

    Where the target is a list whose items all have a `name`, a text, a mapping patches the items by name: a known name is patched, null
    removes it, a new name is appended. (RFC 7386 would replace the list by the mapping, which no field of Kubernetes accepts.)
    """
    if not isinstance(patch, dict):
        return patch
    if _named_items(target):
        return _patch_items(target, patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _named_items(target: Any) -> bool:
    items = target if isinstance(target, list) else []
    return bool(items) and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items)


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
