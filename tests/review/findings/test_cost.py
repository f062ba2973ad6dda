"""A cost that rises, or is not known."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.review.jobs import locate
from tests.review.jobs_of_previews import PRICE, TODAY, context, environment, job_review, rendered, workers
from tests.support.samples import CLUSTER as SAMPLE
from trainform.review.context import JobReview
from trainform.review.findings.cost import find
from trainform.spec.environment import Environment


def fresh(days: int = 1, **parts: Any) -> Environment:
    """The environment with a price of some days ago."""
    price = {**PRICE, "as_of": TODAY - datetime.timedelta(days=days)}
    priced = {**SAMPLE["accelerators"]["a800"], "nodes": 64, "price_per_hour": price}
    kinds = {**SAMPLE["accelerators"], "a800": priced}
    return environment(accelerators=kinds, **parts)


CLUSTER = fresh()


def scaled(before: dict[str, Any], after: dict[str, Any]) -> JobReview:
    return job_review(rendered(CLUSTER, **before), rendered(CLUSTER, **after))


@pytest.mark.parametrize(
    ("before", "after", "level", "title"),
    [
        (2, 3, "high", "The stack costs 16.80 USD per hour more (+50.0 %): 33.60 USD → 50.40 USD."),
        (5, 6, "medium", "The stack costs 16.80 USD per hour more (+20.0 %): 84.00 USD → 100.80 USD."),
        (6, 7, "low", "The stack costs 16.80 USD per hour more (+16.7 %): 100.80 USD → 117.60 USD."),
        (3, 2, "", ""),
        (2, 2, "", ""),
    ],
)
def test_a_cost_that_rises(before: int, after: int, level: str, title: str) -> None:
    found = [*find(context(scaled(workers(before), workers(after, env={"A": "1"})), environment=CLUSTER))]
    assert [(each.code, each.level, each.title) for each in found] == ([("TR-COST-1", level, title)] if level else [])


@pytest.mark.parametrize(
    ("replicas", "levels", "level"),
    [
        (1, {}, None),  # 16.80 USD/h stand in the report's Cost alone
        (2, {}, "medium"),
        (6, {}, "high"),
        (2, {"medium": 40}, None),
        (2, {"medium": 5, "high": 30}, "high"),
    ],
)
def test_all_of_a_first_deployment_is_a_rise(replicas: int, levels: dict[str, Any], level: str | None) -> None:
    cluster = fresh(cost_levels=levels)
    made = context(job_review(None, rendered(cluster, **workers(replicas))), environment=cluster)
    assert [(found.code, found.level) for found in find(made)] == ([] if level is None else [("TR-COST-1", level)])


@pytest.mark.parametrize(("days", "is_old"), [(90, False), (91, True)])
def test_old_prices_where_the_cost_changes(days: int, is_old: bool) -> None:
    cluster = fresh(days)
    found = [*find(context(scaled(workers(3), workers(2)), environment=cluster, locate=locate))]
    day = (TODAY - datetime.timedelta(days=days)).isoformat()
    assert [each.code for each in found] == (["TR-COST-3"] if is_old else [])
    for each in found:
        assert each.title == f"The oldest price is of {day}, 91 days ago."
        assert each.place == locate("environment.accelerators")
    same = context(scaled(workers(2), workers(2, env={"A": "1"})), environment=cluster)
    assert [*find(same)] == []


def test_a_cost_that_nobody_knows() -> None:
    (finding,) = find(context(scaled(workers(2, 4, "l40s"), workers(3, 4, "l40s")), environment=CLUSTER))
    assert (finding.code, finding.level) == ("TR-COST-2", "low")
    assert finding.title == "The cost is unknown: no price of l40s."
