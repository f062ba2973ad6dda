"""`--fail-on`: which reviews end a command with an exit code that stops a pipeline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from trainform.errors import InputError, Problem, shorten
from trainform.review.model import Category, Cost, Level, Outcome, Report, Review

OPTION = "--fail-on"
CLEAR, FAILED, STOPPED = 0, 1, 3
"""Exit codes: nothing stops the change, the review itself failed, and a condition of `--fail-on` is met. 2 is for wrong
arguments."""
INCOMPLETE = "incomplete"
WORDS = (*Category, *(level.name for level in reversed(Level)), INCOMPLETE)
COSTS = ("cost:500/h", "cost:+50/h", "cost:+20%")
_BETWEEN = re.compile(r"[\s;|]+")  # what else people write between words
_COST = re.compile(r"cost:(?P<rise>\+?)(?P<amount>[0-9]{1,12}(?:\.[0-9]{1,4})?)(?P<unit>/h|%)")


class CostBound(Struct, frozen=True):
    """A bound of the cost per hour. rise: whether it is one of the difference. percent: whether the difference is a
    part of the cost before."""

    amount: Decimal
    rise: bool
    percent: bool

    def is_passed(self, cost: Cost) -> bool:
        """True if the cost is above the bound, or not known: what nobody knows is not below a bound. A stack that cost
        nothing before has no percentage, so that a bound of one says nothing about it."""
        money = cost.difference if self.rise else cost.after
        if money is None:
            return not cost.known
        if self.percent:
            return cost.percent is not None and Decimal(cost.percent) > self.amount
        return money.amount > self.amount


class FailOn(Struct, frozen=True):
    """The conditions of `--fail-on`, of which one is enough. level: findings of this level or a higher one; None: of
    none."""

    categories: frozenset[Category] = frozenset()
    level: Level | None = None
    costs: tuple[CostBound, ...] = ()
    incomplete: bool = False

    def is_met(self, review: Review) -> bool:
        """True if a stack has what it must not have, if all of them together cost more than they may, or if stacks that
        are gone have no preview."""
        removed = review.selection is not None and bool(review.selection.removed)
        return (
            any(map(self._is_met_by, review.stacks))
            or any(bound.is_passed(review.cost) for bound in self.costs)
            or (self.incomplete and removed)
        )

    def _is_met_by(self, report: Report) -> bool:
        """True if the stack has what it must not have. A finding that is waived does not count."""
        return any(
            self._counts(finding.category, Level[finding.level]) for finding in report.findings if not finding.waived
        ) or (self.incomplete and bool(report.not_checked))

    def _counts(self, category: Category, level: Level) -> bool:
        return category in self.categories or (self.level is not None and level >= self.level)


def parse_fail_on(given: str) -> FailOn:
    """The conditions in a list that commas separate. Raises InputError with every word that is none."""
    words = [word.strip() for word in given.split(",")]
    problems = [problem for word in words for problem in _problems(word)]
    if problems:
        raise InputError(problems)
    levels = [Level[word] for word in words if word in Level.__members__]
    return FailOn(
        frozenset(Category(word) for word in words if word in list(Category)),
        min(levels, default=None),
        tuple(_bound(found) for word in words if (found := _COST.fullmatch(word)) is not None),
        INCOMPLETE in words,
    )


def exit_code(review: Review, fail_on: FailOn) -> int:
    """The exit code of a command with this review."""
    if review.outcome is Outcome.failed:
        return FAILED
    return STOPPED if fail_on.is_met(review) else CLEAR


def _bound(found: re.Match[str]) -> CostBound:
    return CostBound(Decimal(found["amount"]), bool(found["rise"]), found["unit"] == "%")


def _problems(word: str) -> Iterator[Problem]:
    found = _COST.fullmatch(word)
    if found is not None and found["unit"] == "%" and not found["rise"]:
        yield Problem(
            OPTION, word, "a percentage is one of the cost before, so it is a rise", f"write cost:+{word[5:]}"
        )
    elif found is None and word.startswith("cost:"):
        yield Problem(
            OPTION, word, "this is no bound of a cost", f"write one as {', '.join(COSTS[:-1])} or {COSTS[-1]}"
        )
    elif found is None and word not in WORDS:
        words = _BETWEEN.split(word)
        if len(words) > 1:
            yield Problem(OPTION, word, "commas stand between conditions, and nothing else", f"write {','.join(words)}")
            return
        near = difflib.get_close_matches(word.lower(), WORDS, 1)
        known = f"known: {', '.join(WORDS)}, {', '.join(COSTS)}"
        reason = f"no condition is called `{shorten(word)}`" if word else "a condition is empty"
        yield Problem(OPTION, word, reason, f"did you mean {near[0]}?" if near else known)
