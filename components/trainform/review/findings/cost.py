"""A cost that rises or is unknown, and prices that are old."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from trainform.review.context import Context
from trainform.review.cost import CENT, TENTH, Side, difference_of, oldest_price, percent_of, sides
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.spec.environment import CostLevels

RISES = kind("TR-COST-1")
UNKNOWN = kind("TR-COST-2")
OLD = kind("TR-COST-3")
KINDS = (RISES, UNKNOWN, OLD)

SMALL = Decimal(1)
"""A rise per hour of less than this is low, whatever its percentage."""
MEDIUM_PERCENT, HIGH_PERCENT = 20, 50
OLDEST_DAYS = 90


def find(context: Context) -> Iterator[Finding]:
    """Yield a finding for a cost that rises or is unknown, and for old prices where the cost changes."""
    before, after = sides(context)
    if not after.known:
        yield UNKNOWN.finding(context.stack, title=f"The cost is unknown: {after.why}")
        return
    difference = difference_of(before, after)
    if not difference:
        return
    levels = CostLevels() if context.environment is None else context.environment.cost_levels
    percent = percent_of(before, difference)
    level = level_of_rise(difference, percent, levels)
    if difference > 0 and (percent is not None or level != "low"):  # a small first cost stands in the report's Cost
        more = "" if percent is None else f" ({percent.quantize(TENTH, ROUND_HALF_UP):+f} %)"
        money = f"{difference.quantize(CENT, ROUND_HALF_UP):f} {after.currency}"
        title = f"The stack costs {money} per hour more{more}: {_shown(before, after)} → {_shown(after, after)}."
        amounts = _shown(before, after), _shown(after, after)
        yield RISES.weighing(level).finding(context.stack, "cost", *amounts, title=title)
    day = oldest_price(before, after)
    if day is not None and (context.today - day).days > OLDEST_DAYS:
        place = context.locate(_path_of_price(context, day.isoformat()))
        title = f"The oldest price is of {day}, {(context.today - day).days} days ago."
        yield OLD.finding(context.stack, "as_of", after=day.isoformat(), title=title, place=place)


def level_of_rise(rise: Decimal, percent: Decimal | None, levels: CostLevels) -> Literal["low", "medium", "high"]:
    """Return the higher one of the levels by money and by percent."""
    share = Decimal(0) if percent is None or rise < SMALL else percent
    if rise >= levels.high or share >= HIGH_PERCENT:
        return "high"
    return "medium" if rise >= levels.medium or share >= MEDIUM_PERCENT else "low"


def _path_of_price(context: Context, day: str) -> str:
    """Return where the environment has the price of the day."""
    if context.environment is not None:
        for name, kind in context.environment.accelerators.items():
            if kind.price_per_hour is not None and kind.price_per_hour.as_of.isoformat() == day:
                return f"environment.accelerators.{name}.price_per_hour.as_of"
        for name, price in context.environment.storage_prices.items():
            if price.as_of.isoformat() == day:
                return f"environment.storage_prices.{name}.as_of"
    return "environment.accelerators"


def _shown(side: Side, after: Side) -> str:
    amount = Decimal(0) if side.amount is None else side.amount
    return f"{amount.quantize(CENT, ROUND_HALF_UP):f} {side.currency or after.currency}"
