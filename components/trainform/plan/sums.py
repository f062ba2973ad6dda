"""What a whole job takes and costs."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal


@dataclasses.dataclass(frozen=True)
class HourlyCost:
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
        """The same with the day of its prices."""
        return f"{self.text} (prices of {self.as_of})"


@dataclasses.dataclass(frozen=True)
class Totals:
    """What the whole job takes. cpu (cores) and memory (bytes) are quantities; empty if a role has no limit. cost_per_hour: None unless every
    accelerator in use has a price, all in one currency."""

    pods: int
    accelerators: dict[str, int]
    cpu: str
    memory: str
    cost_per_hour: HourlyCost | None
