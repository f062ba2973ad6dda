"""Parts of a merge patch: what is wrong is left out, so that the rest of it can be judged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Part = tuple[str | int, ...]
"""Keys, and indices of lists, from the top of a patch on. () is all of it."""

_INDEX = re.compile(r"\[(\d+)\]")
_KEY_ENDS = re.compile(r"$|[.\[]")


def part_at(patch: Any, where: str, patched: Any) -> Part:
    """The part of the patch that leads to this place in the patched object; where no part does, the one that leads nearest to it.

    An item of a list, which a patch calls by its name, may stand in the place as `[0]` or by its name. A patch that is a list takes the
    place of the whole list, so that its items stand where those of the patched object do.
    """
    if isinstance(patch, list):
        index, below = _index(patch, where)
        return () if index is None else (index, *part_at(patch[index], below, patch[index]))
    key, below, item = _step(patch, where, patched) if isinstance(patch, dict) else (None, "", None)
    if key is None or key not in patch:
        return ()
    return (key, *part_at(patch[key], below, item))


def without_parts(patch: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """The patch without these parts of it, and without what is empty then."""
    rest: dict[str, Any] = _without(patch, parts)
    return rest


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
    """The value without the parts; None where nothing is left of it."""
    if parts is None:
        return value
    rest = None if () in parts else _without(value, parts)
    return rest if rest else None


def _index(items: list[Any], where: str) -> tuple[int | None, str]:
    """The item on the way to the place, and what remains of the way."""
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
    """The key of the patch on the way to the place, what remains of the way, and what is there. A key may hold dots of its own: the
    longest one counts."""
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
