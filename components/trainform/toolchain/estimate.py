"""The time to build parts, from their table."""

from __future__ import annotations

from collections.abc import Iterable

from trainform.toolchain.parts import Part


def build_time(parts: Iterable[Part]) -> str:
    """Return a text with the time to build these parts one after the other."""
    minutes = round(sum(part.minutes for part in parts))
    return f"about {minutes} min on 2 cores" if minutes >= 1 else "less than a minute on 2 cores"
