"""The values of an experiment that hold in one environment, or for one call, each with its origin."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from trainform.errors import Problem
from trainform.spec.layers import Overlaid
from trainform.spec.source import Source

REMOVED = "null"


class OverlaidValue(Struct, frozen=True):
    """A value as it may be shown. path: in the experiment. place: where it was written; line: 0 if it is in no file.
    before: what it takes the place of; None: nothing stands there."""

    path: str
    value: str
    before: str | None
    place: str
    source: str
    line: int

    @property
    def replaced(self) -> str:
        """What it takes the place of, in words."""
        return "new" if self.before is None else f"in place of {self.before}"

    @property
    def where(self) -> str:
        """Its origin for people: `environments.prod, line 12`."""
        place = self.place.removesuffix(f".{self.path}").removesuffix(f" {self.path}")
        return f"{place}, line {self.line}" if self.line else place


def overlaid(source: Source) -> list[OverlaidValue]:
    """Every value of the experiment that an overlay set, in the order in which they are applied."""
    return [
        _value(value, source.locate(Problem(value.path, None, "", "")))
        for layer in source.layers
        for value in layer.values
        if source.origin(value.path)[0] == value.place  # a later layer may have set it anew
    ]


def _value(value: Overlaid, at: Problem) -> OverlaidValue:
    before = None if value.before is None else _shown(value.path, value.before)
    new = REMOVED if value.value is None else _shown(value.path, value.value)
    return OverlaidValue(value.path, new, before, value.place, at.source, at.line)


def _shown(path: str, value: object) -> str:
    """The value as a message may show it."""
    return str(Problem(path, value, "", "").shown_value)


def as_rows(values: Iterable[OverlaidValue]) -> list[dict[str, object]]:
    """The same for machines."""
    return [structs.asdict(value) for value in values]
