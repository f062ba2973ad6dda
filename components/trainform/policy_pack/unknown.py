"""Mappings and lists with values that a preview cannot know. A rule that reads one is stopped: whatever it made of the value would be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

UNKNOWN = object()
"""Stands for a value that a preview cannot know."""


class NotKnownError(Exception):
    """A value was read that is known only at `up`. `place`: its path in the object."""

    def __init__(self, place: Sequence[str]) -> None:
        super().__init__()
        self.place = ".".join(place)


class PartlyKnown(dict[str, Any]):
    """A mapping of which some values are `UNKNOWN`. Its keys are known; every way to such a value raises `NotKnownError`."""

    def __init__(self, values: dict[str, Any], place: Sequence[str]) -> None:
        super().__init__(values)
        self._place = place

    def _whole(self) -> dict[str, Any]:
        return {key: self[key] for key in self}

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if value is UNKNOWN:
            raise NotKnownError((*self._place, key))
        return value

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - this is `get`

    # Python copies a subclass of dict by its items, without `__getitem__`, unless it has an iterator of its own
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def items(self) -> Any:
        return self._whole().items()

    def values(self) -> Any:
        return self._whole().values()

    def copy(self) -> dict[str, Any]:
        return self._whole()

    def __or__(self, other: Any) -> Any:
        return self._whole() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._whole()

    def __eq__(self, other: object) -> bool:
        return self._whole() == other

    def __ne__(self, other: object) -> bool:
        return self._whole() != other

    def __repr__(self) -> str:
        return repr(self._whole())

    __hash__ = None


class PartlyKnownList(list[Any]):
    """A list of which some items are `UNKNOWN`. Its length is known; every way to such an item raises `NotKnownError`."""

    def __init__(self, items: list[Any], place: Sequence[str]) -> None:
        super().__init__(items)
        self._place = place

    def _whole(self) -> list[Any]:
        return [*self]

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, SupportsIndex):
            return self._whole()[index]
        value = super().__getitem__(index)
        if value is UNKNOWN:
            raise NotKnownError((*self._place, str(index)))
        return value

    def __contains__(self, item: object) -> bool:
        return item in self._whole()

    def __reversed__(self) -> Iterator[Any]:
        yield from reversed(self._whole())

    def __add__(self, other: Any) -> Any:
        return self._whole() + other

    def __radd__(self, other: Any) -> Any:
        return other + self._whole()

    def copy(self) -> list[Any]:
        return self._whole()

    def __eq__(self, other: object) -> bool:
        return self._whole() == other

    def __ne__(self, other: object) -> bool:
        return self._whole() != other

    def __repr__(self) -> str:
        return repr(self._whole())

    __hash__ = None
