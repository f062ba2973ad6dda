"""Values in pod templates of any shape: null, a missing part and a part of another shape all count as no value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trainform.manifests.templates import CONTAINER_FIELDS

ANY_CONTAINER = "*"
ITEMS = "[]"


class Place(NamedTuple):
    """A path in a pod template, with items by name, and the value there; None if there is none."""

    where: str
    value: Any


def places(body: object, path: str) -> Iterator[Place]:
    """Yield the places of a path: one for `spec.hostPID`, even without a value, one for each container of any kind for
    `spec.*.image`, and one for each volume for `spec.volumes[].nfs`."""
    return _places(body, path.split("."), "")


def _places(value: Any, steps: list[str], where: str) -> Iterator[Place]:
    for number, step in enumerate(steps, 1):
        if step == ANY_CONTAINER:
            for field in CONTAINER_FIELDS:
                yield from _places(value, [f"{field}{ITEMS}", *steps[number:]], where)
            return
        key = step.removesuffix(ITEMS)
        where = f"{where}.{key}" if where else key
        value = value.get(key) if isinstance(value, dict) else None
        if key != step:
            # a value that is not a list counts as an item, so that it is judged too
            for item in value if isinstance(value, list) else [] if value is None else [value]:
                name = item.get("name") if isinstance(item, dict) else None
                yield from _places(item, steps[number:], where if name is None else f"{where}.{name}")
            return
    yield Place(where, value)


def volume_sources(body: object) -> Iterator[Place]:
    """Yield the source of each volume: `spec.volumes.data.nfs` with the content. See `volume_type`."""
    for where, volume in places(body, f"spec.volumes{ITEMS}"):
        for key, source in volume.items() if isinstance(volume, dict) else ():
            if key != "name" and source is not None:
                yield Place(f"{where}.{key}", source)


def volume_type(place: Place) -> str:
    """Return the type of the volume at a place of `volume_sources`."""
    return place.where.rpartition(".")[2]


def distinct(found: Iterable[Place]) -> list[Place]:
    """Return each place once: containers share the fields of their pod, and items without names their path."""
    return list({(place.where, repr(place.value)): place for place in found}.values())
