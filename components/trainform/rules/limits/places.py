"""Values in a pod template that anybody may have written: null, a missing part and a part of another shape are all no
value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trainform.manifests.templates import CONTAINER_FIELDS

ANY_CONTAINER = "*"
ITEMS = "[]"


class Place(NamedTuple):
    """A path in a pod template, named items by their names, and the value there; None if there is none."""

    where: str
    value: Any


def places(body: object, path: str) -> Iterator[Place]:
    """The places of a path: `spec.hostPID` is one, also if it has no value, `spec.*.image` is one for each container of
    every kind, and `spec.volumes[].nfs` is one for each volume."""
    return _places(body, path.split("."), "")


def _places(value: Any, steps: list[str], where: str) -> Iterator[Place]:
    if not steps:
        yield Place(where, value)
        return
    step, rest = steps[0], steps[1:]
    if step == ANY_CONTAINER:
        for field in CONTAINER_FIELDS:
            yield from _places(value, [f"{field}{ITEMS}", *rest], where)
        return
    inside = value if isinstance(value, dict) else {}
    key = step.removesuffix(ITEMS)
    below = f"{where}.{key}" if where else key
    if key == step:
        yield from _places(inside.get(key), rest, below)
        return
    for item in _items(inside.get(key)):
        name = item.get("name") if isinstance(item, dict) else None
        yield from _places(item, rest, below if name is None else f"{below}.{name}")


def _items(value: Any) -> list[Any]:
    """The items of a list; what is no list counts as an item, so that it is looked at too."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def volume_sources(body: object) -> Iterator[Place]:
    """Yield the source of each volume: `spec.volumes.data.nfs` with the content. See `volume_type`."""
    for where, volume in places(body, f"spec.volumes{ITEMS}"):
        for key, source in volume.items() if isinstance(volume, dict) else ():
            if key != "name" and source is not None:
                yield Place(f"{where}.{key}", source)


def volume_type(place: Place) -> str:
    """The type of the volume at a place of `volume_sources`."""
    return place.where.rpartition(".")[2]


def distinct(found: Iterable[Place]) -> list[Place]:
    """Return each of the places once: containers share the fields of their pod, and nameless items their path."""
    return list({(place.where, repr(place.value)): place for place in found}.values())
