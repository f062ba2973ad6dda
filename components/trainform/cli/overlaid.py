"""The values of an experiment that an overlay or `--set` changes, each with its origin."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from trainform.errors import Problem
from trainform.spec.layers import LayerValue
from trainform.spec.read import Source


class OverlaidValue(Struct, frozen=True):
    """A value as it may be shown."""

    path: str
    """Path in the experiment."""
    value: str
    before: str | None
    """The value that it replaces, None for a new field."""
    place: str
    """Path of the overlay, or `--set`."""
    source: str
    line: int
    """0 if the value is in no file."""

    @property
    def replaced(self) -> str:
        """Return the value that it replaces, in words."""
        return "new" if self.before is None else f"in place of {self.before}"

    @property
    def where(self) -> str:
        """Return its origin in words: `environments.prod, line 12`."""
        place = self.place.removesuffix(f".{self.path}").removesuffix(f" {self.path}")
        return f"{place}, line {self.line}" if self.line else place


def overlaid(source: Source) -> list[OverlaidValue]:
    """Return every value that an overlay sets, in the order in which they are applied."""
    return [
        _value(value, source.locate(Problem(value.path, None, "", "")))
        for layer in source.layers
        for value in layer.values
        if source.origin(value.path)[0] == value.place  # a later layer may have set it anew
    ]


def _value(value: LayerValue, at: Problem) -> OverlaidValue:
    before = None if value.before is None else _shown(value.path, value.before)
    new = "null" if value.value is None else _shown(value.path, value.value)
    return OverlaidValue(value.path, new, before, value.place, at.source, at.line)


def _shown(path: str, value: object) -> str:
    """Return the value as a message may show it."""
    return str(Problem(path, value, "", "").shown_value)


def as_rows(values: Iterable[OverlaidValue]) -> list[dict[str, object]]:
    """Return the values for programs."""
    return [structs.asdict(value) for value in values]
