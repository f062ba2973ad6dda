"""A section of the report, and its tables."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bench.aims import Judged
from bench.samples import Ratio, Series
from bench.spelling import spell_medians, spell_megabytes, spell_ratio, spell_seconds


class Table(Struct, frozen=True):
    """A table with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(Struct, frozen=True):
    """A section of the report. `ratios`: those without an aim. `further`: more tables. `notes`: lines such as
    versions."""

    title: str
    series: tuple[Series, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    judged: tuple[Judged, ...] = ()
    further: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def tables(section: Section) -> Iterable[Table]:
    """Yield the tables of a section: times, and more tables."""
    if section.series:
        yield Table(section.title, ("what", "median", "peak memory"), tuple(map(_times, section.series)))
    yield from section.further


def results(sections: Iterable[Section]) -> Table:
    """Return a table with every comparison and every aim."""
    rows = tuple(row for section in sections for row in _results(section))
    return Table("Results", ("what", "measured", "medians", "aim", ""), rows)


def _results(section: Section) -> Iterable[tuple[str, ...]]:
    for judged in section.judged:
        yield judged.what, judged.measured, judged.medians, judged.aim, judged.verdict
    for ratio in section.ratios:
        yield ratio.name, spell_ratio(ratio), spell_medians(ratio), "", ""


def _times(series: Series) -> tuple[str, ...]:
    return series.name, spell_seconds(series.median), spell_megabytes(series.peak)
