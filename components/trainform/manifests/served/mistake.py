"""What is wrong at one place of an object."""

from __future__ import annotations

from typing import NamedTuple

NO_FIELD = "there is no field of this name"


class Mistake(NamedTuple):
    """where: names and keys with dots between them, `[0]` for an item without a name. others: places of what it does not agree with, which may be
    what a patch has changed."""

    where: str
    value: object
    reason: str
    fix: str
    others: tuple[str, ...] = ()

    def below(self, place: str) -> Mistake:
        """The same in a value that stands at this place."""
        return self._replace(
            where=joined(place, self.where), others=tuple(joined(place, other) for other in self.others)
        )


def joined(place: str, name: str) -> str:
    """The place of what has this name, or this index, in the value at the first place."""
    return f"{place}.{name}" if place and name and not name.startswith("[") else f"{place}{name}"
