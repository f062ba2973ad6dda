"""Parts of a merge patch: invalid parts are removed, so that the others can still be checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Part = tuple[str | int, ...]
"""The keys, and the indices of lists, that lead from the top of a patch to a part of it. () is the whole patch."""

_INDEX = re.compile(r"\[(\d+)\]")
_KEY_ENDS = re.compile(r"$|[.\[]")


def part_at(patch: Any, where: str, patched: Any) -> Part:
    """The part of the patch that sets this place of the patched object; if none does, the part that comes nearest to the place.

    A patch names an item of a list by its `name`; the place may name it so too, or by its index as in `[0]`. A patch that is a list replaces
    the whole list, so its items have the same indices as those of the patched object.
    """
    if isinstance(patch, list):
        index, below = _index(patch, where)
        return () if index is None else (index, *part_at(patch[index], below, patch[index]))
    key, below, item = _step(patch, where, patched) if isinstance(patch, dict) else (None, "", None)
    if key is None or key not in patch:
        return ()
    return (key, *part_at(patch[key], below, item))


def without_parts(patch: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """The patch without these parts, and without mappings and lists that become empty by that."""
    remaining: dict[str, Any] = _without(patch, parts)
    return remaining


def _without(patch: Any, parts: Iterable[Part]) -> Any:
    below: dict[str | int, list[Part]] = {}
    for part in parts:
        if not part:
            return {}
        below.setdefault(part[0], []).append(part[1:])
    if isinstance(patch, list):
        kept = (_remaining(value, below.get(index)) for index, value in enumerate(patch))
        return [value for value in kept if value is not None]
    kept_by_key = {key: _remaining(value, below.get(key)) if key in below else value for key, value in patch.items()}
    return {key: value for key, value in kept_by_key.items() if key not in below or value is not None}


def _remaining(value: Any, parts: list[Part] | None) -> Any:
    """The value without the parts; None if nothing is left."""
    if parts is None:
        return value
    remaining = None if () in parts else _without(value, parts)
    return remaining if remaining else None


def _index(items: list[Any], where: str) -> tuple[int | None, str]:
    """The index of the item that contains the place (None if there is none), and the place within the item."""
    found = _INDEX.match(where)
    if found is not None:
        index = int(found.group(1))
        return index if index < len(items) else None, where[found.end() :].removeprefix(".")
    for index, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and f"{where}.".startswith((f"{name}.", f"{name}[")):
            return index, where[len(name) :].removeprefix(".")
    return None, ""


def _step(patch: dict[str, Any], where: str, patched: Any) -> tuple[str | None, str, Any]:
    """The key of the patch that leads to the place (None if there is none), the place below that key, and the patched value of the key. A key may
    contain dots, so the longest key that matches is taken."""
    found = _INDEX.match(where)
    if found is not None:
        index = int(found.group(1))
        item = patched[index] if isinstance(patched, list) and index < len(patched) else None
        name = item.get("name") if isinstance(item, dict) else None
        return name if isinstance(name, str) else None, where[found.end() :].removeprefix("."), item
    ends = [end.start() for end in _KEY_ENDS.finditer(where)]
    key = next((where[:end] for end in reversed(ends) if where[:end] in patch), None)
    return (None, "", None) if key is None else (key, where[len(key) :].removeprefix("."), _item(patched, key))


def _item(patched: Any, key: str) -> Any:
    if isinstance(patched, dict):
        return patched.get(key)
    items = patched if isinstance(patched, list) else []
    return next((item for item in items if isinstance(item, dict) and item.get("name") == key), None)
