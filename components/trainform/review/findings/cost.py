"""A cost that rises or is unknown, and prices that are old."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from trainform.review.context import Context
from trainform.review.cost import CENT, TENTH, Side, difference_of, oldest_price, percent_of, sides
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding
from trainform.spec.environment import CostLevels

RISES = Kind(
    "TR-COST-1",
    Category.cost,
    "low",
    "The stack costs more per hour.",
    "The bill rises as long as the job runs.",
    "Check that the further accelerators are needed, or ask for fewer.",
)
UNKNOWN = Kind(
    "TR-COST-2",
    Category.cost,
    "low",
    "What the stack costs per hour is not known.",
    "A cost that is not known is not 0, and a limit for it cannot be held.",
    "Ask the platform team for `price_per_hour` of every accelerator, in one currency.",
)
OLD = Kind(
    "TR-COST-3",
    Category.cost,
    "low",
    "The prices are older than 90 days.",
    "The amounts of this review may differ from the bill.",
    "Ask the platform team to look up the price, and to write its day into `as_of`.",
)
KINDS = (RISES, UNKNOWN, OLD)

SMALL = Decimal(1)
"""A rise per hour of less than this is low, whatever its percentage."""
MEDIUM_PERCENT, HIGH_PERCENT = 20, 50
OLDEST_DAYS = 90


def find(context: Context) -> Iterator[Finding]:
    """Yield a finding for a cost that rises or is unknown, and for old prices where the cost changes."""
    before, after = sides(context)
    if not after.known:
        yield UNKNOWN.finding(context.stack, title=after.why)
        return
    difference = difference_of(before, after)
    if not difference:
        return
    levels = CostLevels() if context.environment is None else context.environment.cost_levels
    percent = percent_of(before, difference)
    level = _level(difference, percent, levels)
    if difference > 0 and (percent is not None or level != "low"):  # a small first cost stands in the report's Cost
        more = "" if percent is None else f" ({percent.quantize(TENTH, ROUND_HALF_UP):+f} %)"
        money = f"{difference.quantize(CENT, ROUND_HALF_UP):f} {after.currency}"
        title = f"The stack costs {money} per hour more{more}: {_shown(before, after)} → {_shown(after, after)}."
        kind = RISES.weighing(level)
        yield kind.finding(context.stack, "cost", _shown(before, after), _shown(after, after), title=title)
    day = oldest_price(before, after)
    if day is not None and (context.today - day).days > OLDEST_DAYS:
        place = context.locate(_path_of_price(context, day.isoformat()))
        title = f"The oldest price is of {day}, {(context.today - day).days} days ago."
        yield OLD.finding(context.stack, "as_of", after=day.isoformat(), title=title, place=place)


def _level(rise: Decimal, percent: Decimal | None, levels: CostLevels) -> Literal["low", "medium", "high"]:
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
