"""A cost that rises, or is not known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs_of_previews import context, environment, job_review, rendered, workers
from trainform.review.context import JobReview
from trainform.review.findings.cost import find

CLUSTER = environment()


def scaled(before: dict[str, Any], after: dict[str, Any]) -> JobReview:
    return job_review(rendered(CLUSTER, **before), rendered(CLUSTER, **after))


@pytest.mark.parametrize(
    ("before", "after", "level", "title"),
    [
        (workers(2), workers(3), "high", "The stack costs 16.80 USD per hour more (+50.0 %): 33.60 USD → 50.40 USD."),
        (
            workers(5),
            workers(6),
            "medium",
            "The stack costs 16.80 USD per hour more (+20.0 %): 84.00 USD → 100.80 USD.",
        ),
        (workers(6), workers(7), "low", "The stack costs 16.80 USD per hour more (+16.7 %): 100.80 USD → 117.60 USD."),
    ],
)
def test_a_cost_that_rises(before: dict[str, Any], after: dict[str, Any], level: str, title: str) -> None:
    (finding,) = find(context(scaled(before, after), environment=CLUSTER))
    assert (finding.code, finding.level, finding.title) == ("TR-COST-1", level, title)


@pytest.mark.parametrize(("before", "after"), [(workers(3), workers(2)), (workers(2), workers(2, env={"A": "1"}))])
def test_a_cost_that_does_not_rise(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert list(find(context(scaled(before, after), environment=CLUSTER))) == []


def test_a_first_deployment_is_no_rise() -> None:
    assert list(find(context(job_review(None, rendered(CLUSTER, **workers(2))), environment=CLUSTER))) == []


def test_a_cost_that_nobody_knows() -> None:
    (finding,) = find(context(scaled(workers(2, 4, "l40s"), workers(3, 4, "l40s")), environment=CLUSTER))
    assert (finding.code, finding.level) == ("TR-COST-2", "low")
    assert finding.title == "The cost is not known: no price of l40s."
