"""Paths into the body of an object: names with dots between them, and `*` for every item of a list or value of a
mapping. Everything after `labels.` or `annotations.` is one name, since such keys contain dots themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

EACH = "*"
Place = tuple[str, ...]
"""The names from the top of a body to a value; an item of a list has its `name`, or its index if it has no name."""


def places(body: Any, path: str) -> Iterator[tuple[dict[str, Any], str, Place]]:
    """Every value at the path: the mapping that holds it, its key there, and its place."""
    *above, last = _words(path)
    for holder, place in _reached(body, above, ()):
        if isinstance(holder, dict) and last in holder:
            yield holder, last, (*place, last)


def written(place: Place) -> str:
    """The place as a path."""
    return ".".join(place)


def named_items(value: Any) -> dict[str, Any] | None:
    """The items of a mapping, or of a list in which each has a `name` of its own; None if the value is neither."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in value
    ):
        return None
    found = {item["name"]: item for item in value}
    return found if len(found) == len(value) else None


def _words(path: str) -> list[str]:
    for keys in ("labels", "annotations"):
        above, found, key = path.partition(f"{keys}.")
        if found:
            return [*above.split(".")[:-1], keys, key]
    return path.split(".")


def _reached(body: Any, words: Sequence[str], above: Place) -> Iterator[tuple[Any, Place]]:
    """Every value to which the words lead, with its place."""
    if not words:
        yield body, above
        return
    word, *rest = words
    if word == EACH:
        for name, item in _items(body):
            yield from _reached(item, rest, (*above, name))
    elif isinstance(body, dict) and word in body:
        yield from _reached(body[word], rest, (*above, word))


def _items(body: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(body, dict):
        yield from body.items()
    elif isinstance(body, list):
        for index, item in enumerate(body):
            yield str(item.get("name", index) if isinstance(item, dict) else index), item
