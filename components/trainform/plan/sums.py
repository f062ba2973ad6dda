"""Sums over a whole job: pods, accelerators, CPU, memory and cost."""

from __future__ import annotations

import datetime
from decimal import Decimal

from msgspec import Struct


class HourlyCost(Struct, frozen=True):
    """An amount of money for an hour. as_of: the day of the oldest price in it."""

    amount: Decimal
    currency: str
    as_of: datetime.date

    @property
    def text(self) -> str:
        """The amount as it is printed: 16.80 USD."""
        return f"{self.amount:.2f} {self.currency}"

    @property
    def dated(self) -> str:
        """The amount with the day of its prices."""
        return f"{self.text} (prices of {self.as_of})"


class Totals(Struct, frozen=True):
    """Sums over all pods of a job. cpu (cores) and memory (bytes) are quantities; empty if a role has no limit.
    cost_per_hour: None unless every accelerator in use has a price, all in one currency."""

    pods: int
    accelerators: dict[str, int]
    cpu: str
    memory: str
    cost_per_hour: HourlyCost | None
