"""How long is left, from what is done and how long that took. Work is counted in bytes or in seconds of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from trainform.toolchain.parts import Part

# So many seconds of the table count as if this machine had taken exactly as long for them: the first packages say
# little about its pace.
TRUST_SECONDS = 30.0
# Measured: of a part's time the last 7 % are linking, of which the compiler says nothing.
COMPILING = 0.93


def estimate_left(total: float, done: float, spent: float, trust: float = 0.0) -> float | None:
    """Seconds until all of `total` is done, if the rest goes at the pace at which `done` went in `spent` seconds; None
    where that pace is unknown. `trust`: so much work in as many seconds is counted in."""
    known = done + trust
    if known <= 0:
        return None
    return max(total - done, 0.0) * (max(spent, 0.0) + trust) / known


def build_time(parts: Iterable[Part]) -> str:
    """What the table says of building these parts one after the other."""
    minutes = round(sum(part.minutes for part in parts))
    return f"about {minutes} min on 2 cores" if minutes >= 1 else "less than a minute on 2 cores"


class Forecast:
    """The time that is left for building parts one after the other: the table's minutes at the pace of this machine."""

    def __init__(self, parts: Sequence[Part], clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = {part.folder: part.minutes * 60 for part in parts}
        self._done = dict.fromkeys(self._seconds, 0.0)
        self._clock = clock
        self._started = clock()

    def expect(self, part: Part, packages: int) -> None:
        """So many packages of the part are to be compiled; the others are in the compiler's cache."""
        self._seconds[part.folder] = part.minutes * 60 * (COMPILING * packages / part.packages + 1 - COMPILING)

    def reach(self, part: Part, share: float) -> float | None:
        """The seconds that are left for all parts now that so much of what this one has to compile is compiled."""
        self._done[part.folder] = COMPILING * share
        return self._left()

    def finish(self, part: Part) -> None:
        """The part is built."""
        self._done[part.folder] = 1.0

    def _left(self) -> float | None:
        done = sum(seconds * self._done[name] for name, seconds in self._seconds.items())
        return estimate_left(sum(self._seconds.values()), done, self._clock() - self._started, TRUST_SECONDS)
