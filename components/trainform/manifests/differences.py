"""The differences between two trees of plain data, by their paths. Items of lists are matched by their names, not by
their index. Reviews, comparisons, drift and saved reviews all use it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.console.lines import CHANGED_MASK, MASK
from trainform.console.secrets import masked, masked_path
from trainform.spec.read import join_path

DEEPEST = 100
"""Levels below which two values are compared as a whole."""

# What names an item of a list, in the order in which it is tried: a volume may be mounted twice, and a port may have no
# name.
NAMES = ("mountPath", "name", "containerPort", "port")
Keys = tuple[str | int, ...]
REFERENCES = ("secret", "secretKeyRef")  # where a variable's value comes from


class Difference(Struct, frozen=True):
    """A place where two trees differ. keys: to the place, with items of lists by their names. place: the same with the
    index that an item has in the tree after; in the tree before, if it is there no more. before, after: None where
    nothing stands."""

    keys: Keys
    place: Keys
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """Return the place for people, without a secret that is a key: `roles.worker.env.NCCL_DEBUG`."""
        return masked_path(join_path(self.keys))

    @property
    def where(self) -> str:
        """Return the place as the lines of a file are known by: `prepare[0].image`."""
        return join_path(self.place)


Same = Callable[[Keys, Any, Any], bool]
Ordered = Callable[[Keys], bool]


def differences(
    before: Any,
    after: Any,
    same: Same = lambda keys, before, after: False,
    ordered: Ordered = lambda keys: False,
) -> list[Difference]:
    """Return every difference, in the order of the tree after; what is gone comes behind its neighbours. A list of
    texts or numbers is one value. same: True for two spellings of one value. ordered: True for a mapping in which the
    order of the keys counts."""
    return [*_Walk(same, ordered).between(before, after, (), ())]


class _Walk(Struct, frozen=True):
    same: Same
    ordered: Ordered

    def between(self, before: Any, after: Any, keys: Keys, place: Keys) -> Iterator[Difference]:
        if isinstance(before, str) and before == after:  # most places of two trees
            return
        if len(keys) < DEEPEST:
            if isinstance(before, dict) and isinstance(after, dict):
                yield from self._entries(before, after, keys, place)
                return
            if _is_items(before) and _is_items(after) and (before or after):
                yield from self._items(before, after, keys, place)
                return
        if not (_equal(before, after) or self.same(keys, before, after)):
            yield Difference(keys, place, before, after)

    def _entries(
        self, before: Mapping[str, Any], after: Mapping[str, Any], keys: Keys, place: Keys
    ) -> Iterator[Difference]:
        for key in [*after, *(key for key in before if key not in after)]:
            yield from self.between(before.get(key), after.get(key), (*keys, key), (*place, key))
        if self.ordered(keys):
            yield from _order([*before], [*after], keys, place)

    def _items(
        self, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], keys: Keys, place: Keys
    ) -> Iterator[Difference]:
        name = next((name for name in NAMES if _identifies(name, before) and _identifies(name, after)), None)
        if name is None:
            for index, (was, will) in enumerate(itertools.zip_longest(before, after)):
                yield from self.between(was, will, (*keys, index), (*place, index))
            return
        old, new = ({item[name]: (index, item) for index, item in enumerate(items)} for items in (before, after))
        for key in [*new, *(key for key in old if key not in new)]:
            index, _ = new.get(key, old.get(key, (0, None)))
            (_, was), (_, will) = old.get(key, (0, None)), new.get(key, (0, None))
            yield from self.between(was, will, (*keys, str(key)), (*place, index))
        yield from _order([*old], [*new], keys, place)


def _order(before: list[Any], after: list[Any], keys: Keys, place: Keys) -> Iterator[Difference]:
    """Yield the order of what both have, if it differs."""
    old, new = set(before), set(after)
    was, will = [key for key in before if key in new], [key for key in after if key in old]
    if was != will:
        yield Difference(keys, place, before, after)


def _is_items(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _identifies(name: str, items: Sequence[Mapping[str, Any]]) -> bool:
    found = [item.get(name) for item in items]
    return all(isinstance(value, str | int) for value in found) and len(set(found)) == len(found)


def _equal(before: Any, after: Any) -> bool:
    """True also for 1 and 1.0, as JSON has no two kinds of numbers; 1 is not `true`. Values that are nested too deep to
    compare count as different."""
    try:
        return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)
    except RecursionError:
        return False


def shown(difference: Difference) -> tuple[Any, Any]:
    """Return both sides as they may be shown: where one of them is secret, both are masked."""
    keys = difference.keys
    name = str(keys[-2] if len(keys) > 1 and keys[-1] == "value" else keys[-1]) if keys else ""
    before, after = (masked(value, name) for value in (difference.before, difference.after))
    if is_reference(difference.before) and isinstance(
        after, str
    ):  # what comes from a Secret on one side is one on the other
        after = MASK
    if is_reference(difference.after) and isinstance(before, str):
        before = MASK
    if MASK not in (before, after) or CHANGED_MASK in (before, after) or is_reference(before) or is_reference(after):
        return before, after
    return (None if before is None else MASK), (None if after is None else CHANGED_MASK)


def places_of(value: Any, tree: Any, keys: Keys = ()) -> list[str]:
    """Return the paths at which the value stands in a tree of plain data."""
    if tree == value:
        return [join_path(keys)]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path for key, item in items for path in places_of(value, item, (*keys, key))]


def is_reference(value: object) -> bool:
    """Return True for a variable's value that comes from a Secret, as an experiment or as a pod says it."""
    return isinstance(value, Mapping) and not value.keys().isdisjoint(REFERENCES)
