"""The reports of all stacks as one review: the worst outcome, and the cost in sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from trainform.errors import list_names
from trainform.review.cost import TENTH, Side, difference_of, money, percent_of
from trainform.review.model import Cost, Money, Outcome, Report, Review, Selection

BY_WEIGHT = (Outcome.clean, Outcome.incomplete, Outcome.findings, Outcome.failed)
"""Outcomes, the worst last: a finding says more than what was left out, and a preview that failed says nothing for
sure."""


def review_of(reports: Sequence[Report], selection: Selection | None = None, project: str = "") -> Review:
    """The review of these stacks of the project, in this order. selection: why it is these; None: they were named."""
    removed = selection is not None and bool(selection.removed)  # of which nothing is known
    outcomes = [Outcome.incomplete if removed else Outcome.clean, *(report.outcome for report in reports)]
    worst = max(outcomes, key=BY_WEIGHT.index)
    return Review(project=project, outcome=worst, cost=_sum(reports), stacks=list(reports), selection=selection)


def _sum(reports: Sequence[Report]) -> Cost:
    """The cost of all stacks together. What is not known of one is not known of the sum, and amounts in several
    currencies are not added."""
    costs = [report.cost for report in reports]
    if len(costs) == 1:
        return costs[0]
    oldest = min((cost.prices_of for cost in costs if cost.prices_of is not None), default=None)
    age = max((cost.price_age_days for cost in costs if cost.price_age_days is not None), default=None)
    currencies = {side.currency for cost in costs for side in (cost.before, cost.after) if side is not None}
    if len(currencies) > 1:
        why = f"the stacks have prices in several currencies ({list_names(sorted(currencies))})."
        return Cost(prices_of=oldest, price_age_days=age, known=False, unknown=why)
    unknown = [report.stack for report in reports if not report.cost.known]
    before, after = _side(costs, lambda cost: cost.before), _side(costs, lambda cost: cost.after)
    difference = difference_of(before, after)
    percent = percent_of(before, difference)
    currency = next(iter(currencies), "")
    lengths = {cost.hours for cost in costs if cost.total is not None}
    return Cost(
        before=money(before.amount, currency),
        after=money(after.amount, currency),
        difference=money(difference, currency),
        percent=None if percent is None else f"{percent.quantize(TENTH, ROUND_HALF_UP):+f}",
        prices_of=oldest,
        price_age_days=age,
        hours=lengths.pop() if len(lengths) == 1 else None,
        total=_total(costs, currency),
        known=not unknown,
        unknown=f"no cost of {list_names(unknown)}." if unknown else "",
    )


def _side(costs: Sequence[Cost], of: Callable[[Cost], Money | None]) -> Side:
    """One side of all stacks. It is known where it is known of each: without an amount that is so only where all of the
    cost is known."""
    amounts = [found for cost in costs if (found := of(cost)) is not None]
    if any(of(cost) is None and not cost.known for cost in costs):
        return Side(None, known=False)
    return Side(sum((found.amount for found in amounts), Decimal(0)) if amounts else None)


def _total(costs: Sequence[Cost], currency: str) -> Money | None:
    """What all runs cost; None where the cost of one is not known, or how long it runs."""
    running = [cost for cost in costs if cost.after is not None]
    totals = [cost.total.amount for cost in running if cost.total is not None]
    if not totals or len(totals) < len(running) or not all(cost.known for cost in costs):
        return None
    return money(sum(totals, Decimal(0)), currency)
