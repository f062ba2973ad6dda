"""Parts of a merge patch: invalid parts are removed, so that the others can still be checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainform.backends.paths import named_items

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


def sets(patch: Any, where: str, patched: Any) -> bool:
    """Whether the patch sets or removes the place of the patched object, or something in which it is."""
    if not where or not isinstance(patch, dict):
        return True
    key, below, item = _step(patch, where, patched)
    return key is not None and key in patch and sets(patch[key], below, item)


def without_parts(patch: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """The patch without these parts, and without mappings and lists that become empty by that."""
    remaining: dict[str, Any] = _without(patch, parts)
    return remaining


def part_that_sets(patch: dict[str, Any], place: Sequence[str]) -> Part | None:
    """The part of the patch that sets the value at this place of the patched object; None if none does. A list replaces a whole list, so it sets
    everything in it."""
    part: list[str] = []
    value: Any = patch
    for word in place:
        if not isinstance(value, dict):
            break
        if word not in value:
            return None
        part.append(word)
        value = value[word]
    return tuple(part)


def leaves(patch: dict[str, Any], target: Any) -> list[Part]:
    """Every part that can be left out by itself: what sets one value of the target, or all of what the target does not have yet."""
    known = named_items(target)
    found: list[Part] = []
    for key, value in patch.items():
        inside = isinstance(value, dict) and value and known is not None and isinstance(known.get(key), dict | list)
        found += [(key, *below) for below in (leaves(value, known[key]) if inside else [()])]  # type: ignore[index]
    return found


def only(patch: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """The patch with these of its leaves alone."""
    kept: dict[str, Any] = {}
    for part in parts:
        holder: Any = kept
        value: Any = patch
        for key in part[:-1]:
            holder, value = holder.setdefault(key, {}), value[key]
        holder[part[-1]] = value[part[-1]]
    return kept


def value_at(patch: Any, part: Part) -> Any:
    """What the part of the patch sets."""
    for key in part:
        patch = patch[key]
    return patch


def words(part: Part) -> str:
    """The part as the end of a path."""
    return ".".join(map(str, part))


def words_in(patch: Any) -> Iterator[str]:
    """Every key of the patch, and the name of every item of a list."""
    if isinstance(patch, list):
        yield from (str(item["name"]) for item in patch if isinstance(item, dict) and "name" in item)
    elif isinstance(patch, dict):
        yield from patch
    for value in patch.values() if isinstance(patch, dict) else patch if isinstance(patch, list) else ():
        yield from words_in(value)


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
