"""A cost that rises or is unknown, and prices that are old."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

from trainform.review.context import Context
from trainform.review.cost import Side, cost_of, money, percent_of, side_of
from trainform.review.kinds import kind
from trainform.review.model import Finding, Money
from trainform.spec.environment import CostLevels

RISES = kind("TR-COST-1")
UNKNOWN = kind("TR-COST-2")
OLD = kind("TR-COST-3")

SMALL = Decimal(1)
"""A rise per hour of less than this is low, whatever its percentage."""
MEDIUM_PERCENT, HIGH_PERCENT = 20, 50
OLDEST_DAYS = 90


def find(context: Context) -> Iterator[Finding]:
    """Yield a finding for a cost that rises or is unknown, and for old prices where the cost changes."""
    cost = cost_of(context)
    if cost.after is None and not side_of(context, context.environment, after=True).known:
        yield UNKNOWN.finding(context.stack, reason=cost.unknown)
    some = cost.before if cost.after is None else cost.after
    if some is None or cost.difference is None:
        return
    none = Money(amount=Decimal(0), currency=some.currency)
    before, after = (none if each is None else each for each in (cost.before, cost.after))
    if money(side_of(context, context.environment, after=False).amount, after.currency) == cost.after:
        return  # other prices alone, which are a finding of the environment
    rise = after.amount - before.amount
    levels = CostLevels() if context.environment is None else context.environment.cost_levels
    percent = percent_of(Side(before.amount), rise)
    level = level_of_rise(rise, percent, levels)
    if rise > 0 and (percent is not None or level != "low"):  # a small first cost stands in the report's Cost
        more, amount = "" if percent is None else f" ({percent:+f} %)", f"{rise:f} {after.currency}"
        about = RISES.weighing(level)
        yield about.finding(context.stack, "cost", before.text, after.text, rise=amount, percent=more)
    age, day = cost.price_age_days, cost.prices_of
    if rise and day is not None and age is not None and age > OLDEST_DAYS:
        yield OLD.finding(context.stack, "as_of", after=day, place=context.locate("environment.accelerators"), age=age)


def level_of_rise(rise: Decimal, percent: Decimal | None, levels: CostLevels) -> Literal["low", "medium", "high"]:
    """Return the higher one of the levels by money and by percent."""
    share = Decimal(0) if percent is None or rise < SMALL else percent
    if rise >= levels.high or share >= HIGH_PERCENT:
        return "high"
    return "medium" if rise >= levels.medium or share >= MEDIUM_PERCENT else "low"
