"""Aims for measurements, and if they are met."""

from __future__ import annotations

from msgspec import Struct

from bench.samples import Ratio
from bench.spelling import spell_medians, spell_ratio, spell_seconds


class Judged(Struct, frozen=True):
    """An aim and its measurement. `medians`: the times of both sides of a ratio."""

    what: str
    measured: str
    aim: str
    met: bool
    medians: str = ""

    @property
    def verdict(self) -> str:
        """`met` or `missed`."""
        return "met" if self.met else "missed"


def judge_seconds(what: str, seconds: float, below: float) -> Judged:
    """Judge a time, which must be below its aim."""
    return Judged(what, spell_seconds(seconds), f"below {spell_seconds(below)}", seconds < below)


def judge_at_most(ratio: Ratio, limit: float, when: str = "") -> Judged:
    """Judge a ratio, whose median must not exceed the limit. `when` is a prefix of its name."""
    return _judge(ratio, f"at most {limit:.2f}", ratio.median <= limit, when)


def judge_at_least(ratio: Ratio, limit: float) -> Judged:
    """Judge a ratio, whose median must reach the limit."""
    return _judge(ratio, f"at least {limit:.2f}", ratio.median >= limit)


def _judge(ratio: Ratio, aim: str, met: bool, when: str = "") -> Judged:
    return Judged(f"{when}{ratio.name}", spell_ratio(ratio), aim, met, spell_medians(ratio))
