"""Merge patches, drawn by chance, of any place in a rendered object."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from trainform.spec.layers import merge_patch, named_items

Way = tuple[str, ...]

_FEW: list[Any] = [None, "", "mine", 0, -1, 2.5, True, [], ["mine"], [{}], [{"name": "mine"}], {}, {"mine": None}]
VALUES: st.SearchStrategy[Any] = st.sampled_from(_FEW)


def ways(body: Any, way: Way = ()) -> Iterator[Way]:
    """Where a merge patch may lead to in the body: keys, and names of items."""
    for key, value in _entries(body).items():
        yield (*way, key)
        yield from ways(value, (*way, key))


def patch_at(way: Way, value: Any) -> Any:
    return value if not way else {way[0]: patch_at(way[1:], value)}


def patches_at(places: list[Way]) -> st.SearchStrategy[dict[str, Any]]:
    """Merge patches of one place or two."""
    single = st.builds(patch_at, st.sampled_from(places), VALUES)
    return st.lists(single, min_size=1, max_size=2).map(lambda patches: functools.reduce(merge_patch, patches))


def _entries(body: Any) -> dict[str, Any]:
    """Return what a patch reaches by a key."""
    if isinstance(body, list):
        return {str(item["name"]): item for item in body} if named_items(body) else {}
    return body if isinstance(body, dict) else {}
