"""What the change costs more, and a cost that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from trainform.review.context import Context
from trainform.review.cost import CENT, TENTH, Side, difference_of, percent_of, sides
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding

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
KINDS = (RISES, UNKNOWN)

SMALL = Decimal(1)
"""A rise per hour of less than this is low, whatever its percentage."""
LEVELS: tuple[tuple[Decimal, Literal["medium", "high"]], ...] = ((Decimal(50), "high"), (Decimal(20), "medium"))
"""From so many percent on; the rest is low."""


def find(context: Context) -> Iterator[Finding]:
    """A cost that rises, or is not known. A first deployment is no rise: the report has its cost."""
    before, after = sides(context)
    if not after.known:
        yield UNKNOWN.finding(context.stack, title=after.why)
        return
    difference = difference_of(before, after)
    percent = percent_of(before, difference)
    if difference is None or percent is None or difference <= 0:
        return
    money = f"{difference.quantize(CENT, ROUND_HALF_UP):f} {after.currency}"
    title = (
        f"The stack costs {money} per hour more ({percent.quantize(TENTH, ROUND_HALF_UP):+f} %): {_shown(before)} → "
        f"{_shown(after)}."
    )
    level = _level(percent, difference)
    yield RISES.weighing(level).finding(context.stack, "cost", _shown(before), _shown(after), title=title)


def _level(percent: Decimal, difference: Decimal) -> Literal["low", "medium", "high"]:
    if difference < SMALL:
        return "low"
    return next((level for least, level in LEVELS if percent >= least), "low")


def _shown(side: Side) -> str:
    amount = Decimal(0) if side.amount is None else side.amount
    return f"{amount.quantize(CENT, ROUND_HALF_UP):f} {side.currency}"
