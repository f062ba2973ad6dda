"""Estimates of the remaining time, from the work that is done and its time. Work is counted in bytes, or in seconds of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from trainform.toolchain.parts import Part

# So many seconds are added to both the work and its time, since the first packages alone say little about the speed of this machine.
TRUST_SECONDS = 30.0
# Measured: the last 7 % of a part's time are linking, which has no output.
COMPILING = 0.93


def estimate_left(total: float, done: float, spent: float, trust: float = 0.0) -> float | None:
    """Return the seconds until all of `total` is done, if `done` took `spent` seconds; None if the speed is not known yet.

    `trust`: the estimate counts so much more work, done in the same number of seconds.
    """
    known = done + trust
    if known <= 0:
        return None
    return max(total - done, 0.0) * (max(spent, 0.0) + trust) / known


def build_time(parts: Iterable[Part]) -> str:
    """Return a text with the time to build these parts one after the other, from the table."""
    minutes = round(sum(part.minutes for part in parts))
    return f"about {minutes} min on 2 cores" if minutes >= 1 else "less than a minute on 2 cores"


class Forecast:
    """The remaining time to build parts one after the other: the table's minutes, corrected by the speed of this machine."""

    def __init__(self, parts: Sequence[Part], clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = {part.folder: part.minutes * 60 for part in parts}
        self._done = dict.fromkeys(self._seconds, 0.0)
        self._clock = clock
        self._started = clock()

    def expect(self, part: Part, packages: int) -> None:
        """Set how many packages of a part must be compiled; the others are in the compiler's cache."""
        self._seconds[part.folder] = part.minutes * 60 * (COMPILING * packages / part.packages + 1 - COMPILING)

    def reach(self, part: Part, share: float) -> float | None:
        """Set which share of a part's packages is compiled; return the remaining seconds for all parts, None if not known yet."""
        self._done[part.folder] = COMPILING * share
        return self._left()

    def finish(self, part: Part) -> None:
        """Set that a part is finished."""
        self._done[part.folder] = 1.0

    def _left(self) -> float | None:
        done = sum(seconds * self._done[name] for name, seconds in self._seconds.items())
        return estimate_left(sum(self._seconds.values()), done, self._clock() - self._started, TRUST_SECONDS)
