"""What differs between versions of an experiment: a row for each field of which they have more than one value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.manifests.manifest import without_empty
from trainform.review.causes import of_experiment
from trainform.review.difference import Difference, Keys, differences, shown
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.review.wanted import Side

OVERLAYS = "environments"


class Version(Struct, frozen=True):
    """An experiment at one place and time. name: how it is called. side: what it is. facts: what else is told of it, by
    name. overlays: what it has differently in environments, where it is taken without one."""

    name: str
    side: Side
    facts: Mapping[str, str] = {}
    overlays: Mapping[str, Any] = {}


class Row(Struct, frozen=True):
    """A field and its value in each of the versions, as it may be shown; None: not set."""

    path: str
    values: tuple[Any, ...]


class Comparison(Struct, frozen=True):
    """experiment: the fields of the experiment that differ, in its order. environment: what the environments give the
    job, where every version is deployed; it is no part of the experiment."""

    versions: tuple[Version, ...]
    experiment: tuple[Row, ...] = ()
    environment: tuple[Row, ...] = ()

    @property
    def same(self) -> bool:
        """Whether all versions are the same experiment, whatever their environments are."""
        return not self.experiment


def compare(versions: Sequence[Version]) -> Comparison:
    """The versions beside each other. The last one gives the order of the fields."""
    environments = [each.side.environment for each in versions]
    return Comparison(
        tuple(versions),
        (*_rows(versions, _of_experiment), *_rows(versions, _of_overlays)),
        _rows(versions, _of_environment) if all(environments) else (),
    )


def _of_experiment(one: Version, last: Version) -> list[Difference]:
    return of_experiment(one.side, last.side)


def _of_overlays(one: Version, last: Version) -> list[Difference]:
    return differences({OVERLAYS: one.overlays}, {OVERLAYS: last.overlays})


def _of_environment(one: Version, last: Version) -> list[Difference]:
    return differences(one.side.environment, last.side.environment)


def _rows(versions: Sequence[Version], differing: Callable[[Version, Version], list[Difference]]) -> tuple[Row, ...]:
    """Each version beside the last one; where one of them lacks a part as a whole in which another one differs, by the
    fields of that part."""
    *others, last = versions
    pairs = [differing(one, last) for one in others]
    places = {found.keys for pair in pairs for found in pair}
    by_place = [{part.keys: part for found in pair for part in _parts(found, places)} for pair in pairs]
    order = dict.fromkeys(keys for found in by_place for keys in found)
    return tuple(_row([found.get(keys) for found in by_place]) for keys in order)


def _parts(found: Difference, places: set[Keys]) -> Iterator[Difference]:
    """The difference, or its parts if there are others below its place."""
    below = any(len(keys) > len(found.keys) and keys[: len(found.keys)] == found.keys for keys in places)
    before, after = (_empty(found) if value is None else value for value in (found.before, found.after))
    parts = differences(before, after) if below else []
    if not parts or any(not part.keys for part in parts):
        yield found
        return
    for part in parts:
        keys, place = (*found.keys, *part.keys), (*found.place, *part.place)
        yield from _parts(structs.replace(part, keys=keys, place=place), places)


def _empty(found: Difference) -> Any:
    """What a side has that lacks the part as a whole: a mapping or a list without entries, as the other side has
    one."""
    return type(found.after if found.before is None else found.before)()


def _row(found: Sequence[Difference | None]) -> Row:
    """The values at one place. A version without a difference has the value of the last one."""
    known = [each for each in found if each is not None]
    pairs = [None if each is None else shown(each) for each in found]
    last = next(pair[1] for pair in pairs if pair is not None)
    values = [last if pair is None else pair[0] for pair in pairs] + [last]
    if MASKED in values or CHANGED_MASK in values:
        values = [_masked(value) for value in values]
    return Row(known[0].path, tuple(without_empty(value) if isinstance(value, dict) else value for value in values))


def _masked(value: Any) -> Any:
    return value if value in (None, CHANGED_MASK) else MASKED
