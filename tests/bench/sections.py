"""A part of the report: what was measured, and the tables of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tests.bench.aims import Judged
from tests.bench.samples import Ratio, Series
from tests.bench.spelling import spell_megabytes, spell_ratio, spell_seconds, spell_span


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Section:
    """`further` are tables of its own; `notes` are lines below the tables: what was left out, and versions."""

    title: str
    series: tuple[Series, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    judged: tuple[Judged, ...] = ()
    further: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def tables(section: Section) -> Iterable[Table]:
    """Times, then ratios, then its own."""
    if section.series:
        yield Table(section.title, ("what", "median", "min … max", "peak memory"), tuple(map(_times, section.series)))
    if section.ratios:
        rows = tuple((ratio.name, spell_ratio(ratio)) for ratio in section.ratios)
        yield Table("", ("times as long", "median (min … max) of the pairs"), rows)
    yield from section.further


def aims(sections: Iterable[Section]) -> Table:
    """Every aim of the run with its verdict."""
    judged = [judged for section in sections for judged in section.judged]
    rows = tuple((row.what, row.measured, row.aim, row.verdict) for row in judged)
    return Table("Aims", ("what", "measured", "aim", ""), rows)


def _times(series: Series) -> tuple[str, ...]:
    return series.name, spell_seconds(series.median), spell_span(series.span), spell_megabytes(series.peak)
