"""What a stack costs per hour before and after."""

from __future__ import annotations

import dataclasses
import datetime
from fractions import Fraction
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import suspended
from tests.review.jobs_of_previews import (
    context,
    environment,
    job_review,
    live,
    live_job,
    rendered,
    workers,
)
from trainform.cluster.phases import Phase
from trainform.review.context import JobReview
from trainform.review.cost import cost_of
from trainform.review.findings.restart import find as restarts
from trainform.review.model import Money
from trainform.review.preview import State, Step

CLUSTER = environment()


def scaled(before: int, after: int) -> JobReview:
    return job_review(rendered(CLUSTER, **workers(before)), rendered(CLUSTER, **workers(after)))


def usd(amount: str) -> Money:
    return Money(amount=amount, currency="USD")


def test_a_job_with_more_workers_costs_more() -> None:
    cost = cost_of(context(scaled(2, 3), environment=CLUSTER, hours=Fraction("72.5")))
    assert (cost.before, cost.after, cost.difference) == (usd("33.60"), usd("50.40"), usd("16.80"))
    assert (cost.percent, cost.prices_of, cost.price_age_days) == ("+50.0", "2026-01-01", 326)
    assert (cost.hours, cost.total, cost.unknown) == ("72.5", usd("3654.00"), "")


@pytest.mark.parametrize(("new", "rise", "percent"), [(True, "33.60", None), (False, "-33.60", "-100.0")])
def test_a_job_that_is_new_or_goes(new: bool, rise: str, percent: str | None) -> None:
    job = rendered(CLUSTER, **workers(2))
    cost = cost_of(context(job_review(None, job) if new else job_review(job, None), environment=CLUSTER))
    sides = (None, usd("33.60")) if new else (usd("33.60"), None)
    assert (cost.before, cost.after, cost.difference, cost.percent) == (*sides, usd(rise), percent)
    assert (cost.known, cost.unknown) == (True, "")


def named(job: JobReview) -> str:
    return str(job.job.old.inputs["metadata"]["name"])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("phase", "words"),
    [(Phase.SUCCEEDED, "has succeeded"), (Phase.FAILED, "has failed"), (Phase.QUEUED, "is queued")],
)
def test_a_job_that_does_not_run_costs_nothing_now(phase: Phase, words: str) -> None:
    job = scaled(2, 3)
    cost = cost_of(context(job, environment=CLUSTER, live=live(jobs=(live_job(named(job), phase),))))
    assert (cost.before, cost.after, cost.difference) == (None, usd("50.40"), usd("50.40"))
    assert cost.unknown == f"The job {named(job)} {words} and costs nothing now."


def test_what_a_running_job_has_cost() -> None:
    """16 accelerators at 2.10 USD for 24 hours: 806.40 USD."""
    job = scaled(2, 3)
    running = structs.replace(live_job(named(job)), started="2026-11-22T10:00:00Z")
    made = context(job, environment=CLUSTER, live=live(jobs=(running,)))
    assert (cost_of(made).before, cost_of(made).unknown) == (usd("33.60"), "")
    (restart,) = restarts(made)
    assert restart.title.endswith("; it has cost 806.40 USD.")
    pending = context(job, environment=CLUSTER, live=live(jobs=(live_job(named(job), Phase.QUEUED),)))
    assert [*restarts(pending)] == []


def test_a_suspended_job_costs_nothing() -> None:
    before = rendered(CLUSTER, backend="jobset", **workers(4))
    after = suspended(before)
    name = before.plan.job
    cost = cost_of(context(job_review(before, after), environment=CLUSTER, live=live(jobs=(live_job(name),))))
    assert (cost.before, cost.after, cost.difference) == (usd("67.20"), None, usd("-67.20"))
    resumed = live(jobs=(live_job(name, Phase.SUSPENDED),))
    cost = cost_of(context(job_review(after, before), environment=CLUSTER, live=resumed))
    assert (cost.before, cost.after, cost.difference) == (None, usd("67.20"), usd("67.20"))
    assert cost.unknown == f"The job {name} is suspended and costs nothing now."


STORAGE_PRICE = {"amount": 0.2, "currency": "USD", "as_of": datetime.date(2026, 2, 1)}
CHECKPOINTS = {"size": "730Gi", "class": "fast", "mount": "/mnt/output"}


def test_claims_of_a_class_with_a_price_cost() -> None:
    """730 GiB at 0.20 USD per GiB-month of 730 hours: 0.20 USD per hour."""
    priced = environment(storage_prices={"fast": STORAGE_PRICE})
    stored = rendered(priced, **workers(2), storage={"checkpoints": CHECKPOINTS})
    bare = rendered(priced, **workers(2))
    new = cost_of(context(job_review(bare, stored), environment=priced))
    assert (new.before, new.after, new.prices_of) == (usd("33.60"), usd("33.80"), "2026-01-01")
    gone = cost_of(context(job_review(stored, bare), environment=priced))
    assert (gone.before, gone.after) == (usd("33.80"), usd("33.60"))
    free = cost_of(context(job_review(bare, stored), environment=CLUSTER))
    assert free.difference == usd("0.00")
    euros = environment(storage_prices={"fast": {**STORAGE_PRICE, "currency": "EUR"}})
    assert not cost_of(context(job_review(bare, stored), environment=euros)).known


def test_a_kept_claim_that_leaves_the_stack_still_costs() -> None:
    priced = environment(storage_prices={"fast": STORAGE_PRICE})
    spec = {"storageClassName": "cephfs-ssd", "resources": {"requests": {"storage": "7300Gi"}}}
    claim = State({"metadata": {"name": "data"}, "spec": spec}, id="a/data", keep=True)
    leaves = Step("delete", "urn:data", "kubernetes:core/v1:PersistentVolumeClaim", "data", claim)
    kept = cost_of(context(steps=(leaves,), environment=priced))
    assert (kept.before, kept.after, kept.difference) == (usd("2.00"), usd("2.00"), usd("0.00"))
    lost = cost_of(
        context(steps=(structs.replace(leaves, old=dataclasses.replace(claim, keep=False)),), environment=priced)
    )
    assert (lost.before, lost.difference) == (usd("2.00"), usd("-2.00"))


def kinds(**parts: Any) -> dict[str, Any]:
    priced = environment().model_dump(by_alias=True)["accelerators"]
    return {name: {**kind, **parts.get(name, {})} for name, kind in priced.items()}


EUR = {"amount": 1.5, "currency": "EUR", "as_of": datetime.date(2026, 2, 1)}
MIXED = {
    "roles": {
        "worker": {"replicas": 1, "accelerators": {"a800": 8}},
        "evaluator": {"replicas": 1, "ranked": False, "accelerators": {"l40s": 4}, "command": ["python", "watch.py"]},
    }
}


@pytest.mark.parametrize(
    ("cluster", "roles", "unknown"),
    [
        (environment(), workers(2, 4, "l40s"), "no price of l40s."),
        (
            environment(accelerators=kinds(l40s={"price_per_hour": EUR})),
            MIXED,
            "its prices are in several currencies.",
        ),
        (None, workers(2), "the environment's file, which has the prices, cannot be read."),
    ],
)
def test_an_unknown_cost_is_no_zero(cluster: Any, roles: dict[str, Any], unknown: str) -> None:
    job = rendered(CLUSTER if cluster is None else cluster, **roles)
    cost = cost_of(context(job_review(job, job), environment=cluster))
    assert (cost.before, cost.after, cost.difference, cost.percent, cost.total) == (None, None, None, None, None)
    assert cost.unknown == unknown


def test_a_job_without_a_record_has_no_known_cost() -> None:
    """Unless the preview has its pods."""
    made = scaled(2, 3)
    job = JobReview(made.name, made.component, made.job, None, made.after, made.steps)
    cost = cost_of(context(job, environment=CLUSTER))
    assert (cost.before, cost.after, cost.difference) == (usd("33.60"), usd("50.40"), usd("16.80"))
    assert made.job is not None
    bare = structs.replace(made.job, old=State({"metadata": {"name": "sdxl-lora"}}))
    job = JobReview(made.name, made.component, bare, None, made.after, (bare,))
    cost = cost_of(context(job, environment=CLUSTER))
    assert (cost.before, cost.difference) == (None, None)
    assert cost.unknown == "no record has the roles of the job sdxl-lora."
