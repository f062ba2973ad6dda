"""A section of the report, and its tables."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bench.aims import Judged
from bench.samples import Ratio, Series
from bench.spelling import spell_megabytes, spell_ratio, spell_seconds, spell_span


class Table(Struct, frozen=True):
    """A table with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(Struct, frozen=True):
    """A section of the report. `further`: more tables. `notes`: lines below the tables, such as versions."""

    title: str
    series: tuple[Series, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    judged: tuple[Judged, ...] = ()
    further: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def tables(section: Section) -> Iterable[Table]:
    """Yield the tables of a section: times, ratios, and more tables."""
    if section.series:
        yield Table(section.title, ("what", "median", "min … max", "peak memory"), tuple(map(_times, section.series)))
    if section.ratios:
        rows = tuple((ratio.name, spell_ratio(ratio)) for ratio in section.ratios)
        yield Table("", ("times as long", "median (min … max) of the pairs"), rows)
    yield from section.further


def aims(sections: Iterable[Section]) -> Table:
    """Return a table with every aim and its verdict."""
    judged = [judged for section in sections for judged in section.judged]
    rows = tuple((row.what, row.measured, row.aim, row.verdict) for row in judged)
    return Table("Aims", ("what", "measured", "aim", ""), rows)


def _times(series: Series) -> tuple[str, ...]:
    return series.name, spell_seconds(series.median), spell_span(series.span), spell_megabytes(series.peak)
