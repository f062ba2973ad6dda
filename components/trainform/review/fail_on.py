"""`--fail-on`: which reviews end a command with an exit code that stops a pipeline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from trainform.errors import InputError, Problem, shorten
from trainform.review.model import Category, Cost, Finding, Level, Outcome, Review

OPTION = "--fail-on"
CLEAR, FAILED, STOPPED = 0, 1, 3
"""Exit codes: nothing stops the change, the review failed, a condition is met. 2 is for wrong arguments."""
INCOMPLETE = "incomplete"
NEAR = 0.7  # how alike a word must be that is offered; below it `data high` is offered `data`
WORDS = (*Category, *(level.name for level in reversed(Level)), INCOMPLETE)
COSTS = ("cost:500/h", "cost:+50/h", "cost:+20%")
_COST = re.compile(r"cost:(?P<rise>\+?)(?P<amount>[0-9]{1,12}(?:\.[0-9]{1,4})?)(?P<unit>/h|%)")


class CostBound(Struct, frozen=True):
    """A bound of the cost per hour."""

    amount: Decimal
    rise: bool
    """True for a bound of the difference."""
    percent: bool
    """True if the difference is a part of the cost before."""

    def is_passed(self, cost: Cost) -> bool:
        """Return True if the cost is above the bound or unknown. A stack that cost nothing before has no percentage."""
        money = cost.difference if self.rise else cost.after
        if money is None:
            return not cost.known
        if self.percent:
            return cost.percent is not None and Decimal(cost.percent) > self.amount
        return money.amount > self.amount


class FailOn(Struct, frozen=True):
    """The conditions of `--fail-on`, of which one is enough."""

    categories: frozenset[Category] = frozenset()
    level: Level | None = None
    """Findings of this level or a higher one; None: of none."""
    costs: tuple[CostBound, ...] = ()
    incomplete: bool = False

    def is_met(self, review: Review) -> bool:
        """Return True if a finding counts, if all stacks together cost too much, or if something is not checked."""
        removed = review.selection is not None and bool(review.selection.removed)
        unchecked = removed or any(report.not_checked for report in review.stacks)
        findings = [finding for report in review.stacks for finding in report.findings if not finding.waived]
        # other prices are a difference of the environment alone: the sum of what stacks cost has no part of it
        prices = [each.cost for each in review.stacks if each.cost.before is each.cost.after is None]
        return (
            any(map(self._counts, findings))
            or any(bound.is_passed(cost) for bound in self.costs for cost in (review.cost, *prices))
            or (self.incomplete and unchecked)
        )

    def _counts(self, finding: Finding) -> bool:
        is_bad = self.level is not None and Level[finding.level] >= self.level
        return is_bad or finding.category in self.categories


def parse_fail_on(given: str) -> FailOn:
    """Return the conditions in a list that commas separate. Raises InputError with every word that is none."""
    words = [word.strip() for word in given.split(",")]
    problems = [problem for word in words for problem in _problems(word)]
    if problems:
        raise InputError(problems)
    levels = [Level[word] for word in words if word in Level.__members__]
    return FailOn(
        frozenset(Category(word) for word in words if word in list(Category)),
        min(levels, default=None),
        tuple(
            CostBound(Decimal(found["amount"]), bool(found["rise"]), found["unit"] == "%")
            for found in map(_COST.fullmatch, words)
            if found is not None
        ),
        INCOMPLETE in words,
    )


def exit_code(review: Review, fail_on: FailOn) -> int:
    """Return the exit code of a command with this review."""
    if review.outcome is Outcome.failed:
        return FAILED
    return STOPPED if fail_on.is_met(review) else CLEAR


def _problems(word: str) -> Iterator[Problem]:
    found = _COST.fullmatch(word)
    if word in WORDS or (found is not None and (found["unit"] == "/h" or found["rise"])):
        return
    if word.startswith("cost:"):
        fix = f"write one as {', '.join(COSTS[:-1])} or {COSTS[-1]}"
        yield Problem(OPTION, word, "this is not a bound of the cost", fix)
        return
    near = difflib.get_close_matches(word.lower(), WORDS, 1, NEAR)
    reason = f"`{shorten(word)}` is not a condition" if word else "a condition is empty"
    fix = f"did you mean {near[0]}?" if near else f"known: {', '.join((*WORDS, *COSTS))}, with commas between them"
    yield Problem(OPTION, word, reason, fix)
