"""Measurements, and their medians, ranges and ratios of pairs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct


class Sample(Struct, frozen=True):
    """One run: wall time, and the peak memory of the command's largest process (None if it was not measured)."""

    seconds: float
    megabytes: float | None = None


class Series(Struct, frozen=True):
    """All runs of one measurement, in the order of the rounds."""

    name: str
    samples: tuple[Sample, ...]

    @property
    def median(self) -> float:
        """The median in seconds."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def peak(self) -> float | None:
        """The highest peak memory in megabytes, None if it was not measured."""
        known = [sample.megabytes for sample in self.samples if sample.megabytes is not None]
        return max(known) if known else None


class Ratio(Struct, frozen=True):
    """The time of the first divided by that of the second: in the median pair and in the extreme pairs. `medians`: the
    times of both."""

    name: str
    median: float
    low: float
    high: float
    medians: tuple[float, float]


def compare(first: Series, second: Series) -> Ratio:
    """Return the ratio of two series, computed round by round: another load on the machine slows both of a pair."""
    return ratio_of(f"{first.name} / {second.name}", first.samples, second.samples)


def ratio_of(name: str, first: Sequence[Sample], second: Sequence[Sample]) -> Ratio:
    """Return the ratio of two sequences of equal length."""
    ratios = [one.seconds / other.seconds for one, other in zip(first, second, strict=True)]
    first_median, second_median = (
        statistics.median(sample.seconds for sample in samples) for samples in (first, second)
    )
    return Ratio(name, statistics.median(ratios), min(ratios), max(ratios), (first_median, second_median))
