"""The cost of accelerators per hour, by the dated prices of the environment."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from trainform.spec.environment import Environment


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


def hourly_cost(accelerators: Mapping[str, int], environment: Environment) -> HourlyCost | None:
    """Return the hourly cost of these numbers of accelerators by kind. None if it is unknown: no accelerator is in use,
    a kind has no price, or the prices are in several currencies."""
    prices = [
        (environment.accelerators[kind].price_per_hour, count)
        for kind, count in accelerators.items()
        if count and kind in environment.accelerators
    ]
    known = [(price, count) for price, count in prices if price is not None]
    if not known or len(known) < len(prices) or len({price.currency for price, _ in known}) > 1:
        return None
    hourly = sum((Decimal(str(price.amount)) * count for price, count in known), Decimal(0))
    return HourlyCost(hourly, known[0][0].currency, min(price.as_of for price, _ in known))
