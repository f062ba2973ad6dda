"""Several reports as one review: the worst outcome, and the cost in sum."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.forms.samples import EMPTY, usd
from tests.review.jobs_of_previews import environment
from trainform.review.files import StackFiles
from trainform.review.model import Cost, Outcome, Report
from trainform.review.preview import Preview
from trainform.review.whole import BY_WEIGHT, Read, contexts_of, review_of

RUNS = Cost(
    before=usd("96.00"),
    after=usd("128.00"),
    difference=usd("32.00"),
    percent="+33.3",
    prices_of="2026-09-01",
    price_age_days=83,
    hours="72",
    total=usd("9216.00"),
)
BEGINS = Cost(
    after=usd("4.05"),
    difference=usd("4.05"),
    prices_of="2026-03-01",
    price_age_days=267,
    hours="72",
    total=usd("291.60"),
)
NOTHING = Cost()
HALF = Cost(before=usd("10.00"), known=False, unknown="no price of h800.")


def report(number: int, **given: Any) -> Report:
    return EMPTY.model_copy(update={"stack": f"bert-{number}.dev", **given})


def total(*costs: Cost) -> Cost:
    return review_of([report(number, cost=cost) for number, cost in enumerate(costs)]).cost


@pytest.mark.parametrize("worst", Outcome)
def test_the_outcome_is_the_worst(worst: Outcome) -> None:
    milder = BY_WEIGHT[: BY_WEIGHT.index(worst) + 1]
    for outcomes in (milder, milder[::-1]):
        assert review_of([report(0, outcome=outcome) for outcome in outcomes]).outcome is worst
    assert {*BY_WEIGHT} == {*Outcome}


def test_the_cost_of_one_stack_is_its_own() -> None:
    for cost in (RUNS, BEGINS, NOTHING, HALF):
        assert total(cost) == cost


def test_amounts_are_added() -> None:
    assert total(RUNS, BEGINS, NOTHING) == Cost(
        before=usd("96.00"),
        after=usd("132.05"),
        difference=usd("36.05"),
        percent="+37.6",
        prices_of="2026-03-01",
        price_age_days=267,
        hours="72",
        total=usd("9507.60"),
    )


def test_what_is_not_known_of_one_is_not_known_of_the_sum() -> None:
    found = total(RUNS, HALF)
    assert (found.known, found.before, found.after) == (False, usd("106.00"), None)
    assert (found.difference, found.percent, found.total) == (None, None, None)
    assert found.unknown == "no cost of bert-1.dev."


def read(stack: str, cluster: str, *, own: bool = False) -> Read:
    files = StackFiles(environment=environment(cluster={"context": cluster}), users=() if own else None)
    return Read(stack, Preview("stream", ()), files, None)


def test_the_stacks_of_environments_come_first_and_other_clusters_do_not_count() -> None:
    names = [read("bert.dev", "lab"), read("resnet.dev", "lab"), read("dev", "lab", own=True), read("bert.prod", "gpu")]
    contexts = contexts_of(names, [()] * 4, [None] * 4, None)
    assert {each.stack: [other.stack for other in each.earlier] for each in contexts} == {
        "bert.dev": ["dev"],
        "resnet.dev": ["dev", "bert.dev"],
        "dev": [],
        "bert.prod": [],
    }
    unread = Read("bert.dev", Preview("stream", ()), StackFiles(), None)
    assert [each.earlier for each in contexts_of([unread, unread], [()] * 2, [None] * 2, None)] == [(), ()]
    default = [Read(name, Preview("stream", ()), StackFiles(environment=environment()), None) for name in ("a", "b")]
    assert [len(each.earlier) for each in contexts_of(default, [()] * 2, [None] * 2, None)] == [0, 1]
