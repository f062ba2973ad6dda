"""Parts of a merge patch: what is wrong is left out, so that the rest of it can be judged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Part = tuple[str, ...]
"""Keys from the top of a patch on. () is all of it."""

_INDEX = re.compile(r"\[(\d+)\]")


def part_at(patch: Any, where: str, patched: Any) -> Part:
    """The part of the patch that leads to this place in the patched object; where no part does, the one that leads nearest to it.

    An item of a list, which a patch calls by its name, may stand in the place as `[0]` or by its name.
    """
    key, below = _step(patch, where, patched) if isinstance(patch, dict) else (None, "")
    if key is None or key not in patch:
        return ()
    return (key, *part_at(patch[key], below, _item(patched, key)))


def without_parts(patch: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """The patch without these parts of it, and without what is empty then."""
    below: dict[str, list[Part]] = {}
    for part in parts:
        if not part:
            return {}
        below.setdefault(part[0], []).append(part[1:])
    rest = {}
    for key, value in patch.items():
        if key not in below:
            rest[key] = value
        elif () not in below[key] and (remaining := without_parts(value, below[key])):
            rest[key] = remaining
    return rest


def _step(patch: dict[str, Any], where: str, patched: Any) -> tuple[str | None, str]:
    """The key of the patch on the way to the place, and what remains of the way. A key may hold dots of its own: the longest one counts."""
    index = _INDEX.match(where)
    if index is not None:
        return _name(patched, int(index.group(1))), where[index.end() :].removeprefix(".")
    key = max((key for key in patch if f"{where}.".startswith((f"{key}.", f"{key}["))), key=len, default=None)
    return key, "" if key is None else where[len(key) :].removeprefix(".")


def _name(items: Any, index: int) -> str | None:
    item = items[index] if isinstance(items, list) and index < len(items) else None
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _item(patched: Any, key: str) -> Any:
    if isinstance(patched, dict):
        return patched.get(key)
    items = patched if isinstance(patched, list) else []
    return next((item for item in items if isinstance(item, dict) and item.get("name") == key), None)
