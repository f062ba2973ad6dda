"""Measurements and what is said about them: medians, spans, ratios of pairs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Sample:
    """One run: wall time, and the peak memory of the largest process of the command; None where it was not measured."""

    seconds: float
    megabytes: float | None = None


@dataclasses.dataclass(frozen=True)
class Series:
    """All runs of one thing, in the order of the rounds."""

    name: str
    samples: tuple[Sample, ...]

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def span(self) -> tuple[float, float]:
        """The fastest and the slowest run, in seconds."""
        seconds = [sample.seconds for sample in self.samples]
        return min(seconds), max(seconds)

    @property
    def peak(self) -> float | None:
        """Megabytes of the largest run."""
        known = [sample.megabytes for sample in self.samples if sample.megabytes is not None]
        return max(known) if known else None


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times as long the first takes as the second: in the median pair, and in the extreme ones."""

    name: str
    median: float
    low: float
    high: float


def compare(first: Series, second: Series) -> Ratio:
    """Round by round: what slows the machine for a while slows both of a pair, and their ratio stays."""
    return ratio_of(f"{first.name} / {second.name}", first.samples, second.samples)


def ratio_of(name: str, first: Sequence[Sample], second: Sequence[Sample]) -> Ratio:
    """The same of two sequences of equal length."""
    ratios = [one.seconds / other.seconds for one, other in zip(first, second, strict=True)]
    return Ratio(name, statistics.median(ratios), min(ratios), max(ratios))
