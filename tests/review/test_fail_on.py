"""`--fail-on`: what is a condition, and which reports meet it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.forms.samples import EMPTY, RICH, USUAL, finding, usd
from trainform.errors import InputError
from trainform.review.fail_on import CLEAR, FAILED, STOPPED, exit_code, parse_fail_on
from trainform.review.model import Cost, NotChecked, Outcome, Report
from trainform.review.whole import review_of


def report(**given: Any) -> Report:
    return EMPTY.model_copy(update=given)


DATA_LOW = report(findings=[finding(code="TR-DATA-2", category="data", level="low")])
WAIVED = report(findings=[finding(category="limits", level="high", waived=True)])
DEARER = report(cost=Cost(before=usd("400.00"), after=usd("500.01"), difference=usd("100.01"), percent="+25.0"))
NEW = report(cost=Cost(after=usd("96.00"), difference=usd("96.00")))
UNKNOWN = report(cost=Cost(known=False, unknown="The environment has no price for a800."))
FAILED_ONE = RICH.model_copy(update={"outcome": Outcome.failed})
LEFT_OUT = report(not_checked=[NotChecked(what="cluster", reason="It was not asked.")])


@pytest.mark.parametrize(
    ("words", "given", "code"),
    [
        ("data", DATA_LOW, STOPPED),
        ("restart,security", DATA_LOW, CLEAR),
        ("low", DATA_LOW, STOPPED),
        ("medium", DATA_LOW, CLEAR),
        ("high", RICH, STOPPED),
        ("high, data", DATA_LOW, STOPPED),
        ("limits,high", WAIVED, CLEAR),
        ("cost:500/h", DEARER, STOPPED),
        ("cost:500.01/h", DEARER, CLEAR),
        ("cost:+100/h", DEARER, STOPPED),
        ("cost:+100.01/h", DEARER, CLEAR),
        ("cost:+20%", DEARER, STOPPED),
        ("cost:+25%", DEARER, CLEAR),
        ("cost:+20%", NEW, CLEAR),
        ("cost:+20%,cost:90/h", NEW, STOPPED),
        ("cost:+20%", EMPTY, CLEAR),
        ("cost:0/h", EMPTY, CLEAR),
        ("cost:1000000/h", UNKNOWN, STOPPED),
        ("incomplete", LEFT_OUT, STOPPED),
        ("low", LEFT_OUT, CLEAR),
        ("incomplete", USUAL, CLEAR),
    ],
)
def test_conditions(words: str, given: Report, code: int) -> None:
    assert exit_code(review_of([given]), parse_fail_on(words)) == code


def test_a_failed_review_ends_with_1_whatever_it_found() -> None:
    for words in ("high", "incomplete", "data"):
        assert exit_code(review_of([EMPTY, FAILED_ONE]), parse_fail_on(words)) == FAILED


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("high", STOPPED),
        ("incomplete", STOPPED),
        ("security,drift", CLEAR),
        ("cost:597/h", CLEAR),
        ("cost:596/h", STOPPED),
        ("cost:+196.01/h", CLEAR),
        ("cost:+196/h", STOPPED),
        ("cost:+49.1%", CLEAR),
        ("cost:+48.9%", STOPPED),
    ],
)
def test_several_stacks(words: str, code: int) -> None:
    """A finding of one of them is enough; a bound of the cost is one of the sum: 400.00 → 596.01 USD."""
    review = review_of([DEARER, NEW, LEFT_OUT, report(findings=[finding(level="high")])])
    assert exit_code(review, parse_fail_on(words)) == code


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("dat", "did you mean data?"),
        ("HIGH", "did you mean high?"),
        ("cost:20%", "write one as cost:500/h, cost:+50/h or cost:+20%"),
        ("cost:500", "write one as cost:500/h, cost:+50/h or cost:+20%"),
        ("", "known: data, "),
    ],
)
def test_words_that_are_no_condition(word: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_fail_on(f"{word},zzzz")
    first = next(problem for problem in caught.value.problems if problem.value == word)
    assert first.path == "--fail-on"
    assert first.fix.startswith(fix)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(("given", "code"), [("cost:+20/h", STOPPED), ("cost:+20%", STOPPED), ("cost:+30/h", CLEAR)])
def test_other_prices_of_an_environment_count_next_to_its_stacks(given: str, code: int) -> None:
    """25 USD an hour more for all its users; the stack that is reviewed with it costs 8 more."""
    prices = report(cost=Cost(difference=usd("25.00"), percent="+28.6"))
    cheap = report(cost=Cost(before=usd("80.00"), after=usd("88.00"), difference=usd("8.00"), percent="+10.0"))
    assert exit_code(review_of([prices, cheap]), parse_fail_on(given)) == code
