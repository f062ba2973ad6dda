"""Layers of merge patches (RFC 7386) on an experiment, and the origin of each value.

In addition to the standard, a mapping patches the items of a list by their names.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.spec.read import join_path, upwards


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


Keys = tuple[str | int, ...]


class LayerValue(Struct, frozen=True):
    """A value that a layer sets or removes."""

    path: str  # in the experiment
    place: str  # of the value in the file
    before: Any  # the value without the layer; None if there was none
    value: Any  # None if the layer removes it


class Layer(Struct, frozen=True, dict=True):
    """A merge patch on data."""

    place: str  # prefix of its paths in messages: `environments.prod.`
    patch: Mapping[str, Any]
    base: Mapping[str, Any]
    in_file: bool = True  # whether `place` is a path of the file

    @functools.cached_property
    def merged(self) -> dict[str, Any]:
        """Return the data with the patch applied."""
        result: dict[str, Any] = merge_patch(self.base, dict(self.patch))
        return result

    @functools.cached_property
    def values(self) -> tuple[LayerValue, ...]:
        """Return every value that the patch sets or removes, in the order of the patch."""
        return tuple(
            LayerValue(join_path(keys), f"{self.place}{join_path(place)}", before, value)
            for keys, place, before, value in _leaves(self.base, self.patch, (), ())
        )

    def origin(self, path: str) -> str | None:
        """Return the place in the file of the value at a path of the merged data; None if another layer sets it.

        A missing key of a mapping that the patch changes in part counts as its own.
        """
        for known in (self._set, self._there):
            found = next((part for part in upwards(path) if part in known), None)
            if found is not None:
                place = self._touched.get(found)
                return None if place is None else f"{self.place}{place}{path[len(found) :]}"
        return None

    def sets(self, path: str) -> bool:
        """Return True if the patch sets the value at the path."""
        return any(part in self._set for part in upwards(path))

    def kept(self, path: str) -> list[str]:
        """Return the keys of the mapping at the path that the patch does not change."""
        below = [keys for keys in _paths(self.base, ()) if keys and join_path(keys[:-1]) == path]
        return [str(keys[-1]) for keys in below if join_path(keys) not in self._touched]

    @functools.cached_property
    def _set(self) -> frozenset[str]:
        """Return the paths of the values that the patch sets as a whole."""
        return frozenset(value.path for value in self.values)

    @functools.cached_property
    def _touched(self) -> Mapping[str, str]:
        """Return every path in the patch, with its place there."""
        return {
            join_path(keys[:length]): join_path(place[:length])
            for keys, place, _, _ in _leaves(self.base, self.patch, (), ())
            for length in range(1, len(keys) + 1)
        }

    @functools.cached_property
    def _there(self) -> frozenset[str]:
        """Return every path of the merged data."""
        return frozenset(map(join_path, _paths(self.merged, ())))


def _leaves(base: Any, patch: Any, keys: Keys, place: Keys) -> Iterator[tuple[Keys, Keys, Any, Any]]:
    """Yield every value that the patch sets: its keys in the merged data and in the patch, the value before, and it."""
    is_list = named_items(base)
    if not isinstance(patch, Mapping) or not (patch or is_list or isinstance(base, Mapping)):
        yield keys, place, base, patch
        return
    entries = {item["name"]: item for item in base} if is_list else base if isinstance(base, Mapping) else {}
    # of a list of named items: the index in the merged list
    items = merge_patch(base, dict(patch)) if is_list else []
    indices: dict[Any, int] = {item["name"]: index for index, item in enumerate(items)}
    for key, value in patch.items():
        at: Any = indices.get(key, key)
        yield from _leaves(entries.get(key), value, (*keys, at), (*place, key))


def _paths(data: Any, keys: Keys) -> Iterator[Keys]:
    yield keys
    entries = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from _paths(value, (*keys, key))
