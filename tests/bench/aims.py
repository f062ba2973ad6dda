"""What a measurement should be, and whether it is."""

from __future__ import annotations

import dataclasses

from tests.bench.samples import Ratio
from tests.bench.spelling import spell_ratio, spell_seconds


@dataclasses.dataclass(frozen=True)
class Judged:
    """An aim with the measurement that decides it."""

    what: str
    measured: str
    aim: str
    met: bool

    @property
    def verdict(self) -> str:
        """One word."""
        return "met" if self.met else "missed"


def judge_seconds(what: str, seconds: float, below: float) -> Judged:
    """A time that must stay below its aim."""
    return Judged(what, spell_seconds(seconds), f"below {spell_seconds(below)}", seconds < below)


def judge_at_most(ratio: Ratio, limit: float, when: str = "") -> Judged:
    """A ratio whose median must not exceed the limit. `when` goes before its name."""
    return Judged(f"{when}{ratio.name}", spell_ratio(ratio), f"at most {limit:.2f}", ratio.median <= limit)


def judge_at_least(ratio: Ratio, limit: float) -> Judged:
    """A ratio whose median must reach the limit."""
    return Judged(ratio.name, spell_ratio(ratio), f"at least {limit:.2f}", ratio.median >= limit)
