"""Merge patches on an experiment, in layers, and which of them a value came from."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.spec.merge_patch import merge_patch, named_items
from trainform.spec.source import join_path, upwards

Keys = tuple[str | int, ...]


class Overlaid(Struct, frozen=True):
    """A value that a layer set. path: in the experiment. place: where it was written. before: what stood there without the layer; None: nothing. value: None
    where the layer removed what stood there."""

    path: str
    place: str
    before: Any
    value: Any


class Layer(Struct, frozen=True, dict=True):
    """A merge patch on data. place: what stands before a path of it in messages, `environments.prod.`; in_file: whether that is a path of the file."""

    place: str
    patch: Mapping[str, Any]
    base: Mapping[str, Any]
    in_file: bool = True

    @functools.cached_property
    def merged(self) -> dict[str, Any]:
        """The data with the patch applied."""
        result: dict[str, Any] = merge_patch(self.base, dict(self.patch))
        return result

    def values(self) -> Iterator[Overlaid]:
        """Every value that the patch sets or removes, in its order."""
        for keys, place, value in _leaves(self.base, self.patch, (), ()):
            yield Overlaid(join_path(keys), f"{self.place}{join_path(place)}", _at(self.base, keys), value)

    def origin(self, path: str) -> str | None:
        """Where the value at a path of the merged data is written; None if it is not in this layer.

        What the patch replaces is all its own. Of a mapping that it changes in part, the patch has what it sets itself, and what neither it nor the data
        below it has: that is missing since it changed the mapping.
        """
        above = list(upwards(path))
        found = next((part for part in above if part in self._set), None)
        if found is None:
            found = next((part for part in above if part in self._there), None)
        if found is None or found not in self._touched:
            return None
        return f"{self.place}{self._touched[found]}{path[len(found) :]}"

    def sets(self, path: str) -> bool:
        """Whether the value at the path is the patch's own."""
        return any(part in self._set for part in upwards(path))

    def kept(self, path: str) -> list[str]:
        """The keys of the mapping at the path that the data have and the patch leaves as they are."""
        below = [(join_path(keys[:-1]), keys) for keys in _paths(self.base, ()) if keys]
        return [str(keys[-1]) for above, keys in below if above == path and join_path(keys) not in self._touched]

    @functools.cached_property
    def _set(self) -> frozenset[str]:
        """The paths whose values are the patch's own, as a whole."""
        return frozenset(value.path for value in self.values())

    @functools.cached_property
    def _touched(self) -> Mapping[str, str]:
        """Every path that is in the patch, each with its place there."""
        found = {}
        for keys, place, _ in _leaves(self.base, self.patch, (), ()):
            for length in range(1, len(keys) + 1):
                found[join_path(keys[:length])] = join_path(place[:length])
        return found

    @functools.cached_property
    def _there(self) -> frozenset[str]:
        """Every path of the merged data."""
        return frozenset(map(join_path, _paths(self.merged, ())))


def _leaves(base: Any, patch: Any, keys: Keys, place: Keys) -> Iterator[tuple[Keys, Keys, Any]]:
    """Every value of the patch that takes the place of one, by its keys in the merged data and in the patch."""
    holds = isinstance(base, Mapping) or named_items(base)
    if not isinstance(patch, Mapping) or not (patch or holds):
        yield keys, place, patch
        return
    names = _names_of_items(base, patch)
    for key, value in patch.items():
        at: Any = names.get(key, key)
        below = base.get(key) if isinstance(base, Mapping) else _named(base, key)
        yield from _leaves(below, value, (*keys, at), (*place, key))


def _names_of_items(base: Any, patch: Mapping[str, Any]) -> dict[str, int]:
    """The index in the merged list of each item that the patch names; empty where the data are no list of named items."""
    if not named_items(base):
        return {}
    return {item["name"]: index for index, item in enumerate(merge_patch(base, dict(patch)))}


def _named(items: Any, name: str) -> Any:
    return next((item for item in items if item["name"] == name), None) if named_items(items) else None


def _at(data: Any, keys: Keys) -> Any:
    for key in keys:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _paths(data: Any, keys: Keys) -> Iterator[Keys]:
    yield keys
    entries = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from _paths(value, (*keys, key))
