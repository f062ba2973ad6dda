"""What the whole job takes, and what it costs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.support.samples import CLUSTER, WITH_EXTRAS, environment, experiment, plan
from trainform.job.render import draft_plan
from trainform.plan.export import as_data
from trainform.plan.model import Plan, Totals

PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}


def cluster(**prices: Any) -> Any:
    kinds = {
        kind: {**offered, **({"price_per_hour": prices[kind]} if kind in prices else {})}
        for kind, offered in CLUSTER["accelerators"].items()
    }
    return environment(accelerators=kinds)


def test_sums() -> None:
    roles = {
        "master": {"replicas": 1, "accelerators": {"a800": 8}, "cpu": 8, "memory": "64Gi"},
        "worker": {"replicas": 3, "accelerators": {"l40s": 4}, "cpu": 0.5, "memory": "512Mi"},
        "paused": {"replicas": 0, "ranked": False, "command": ["python"]},
    }
    assert plan(roles=roles).totals == Totals(4, {"a800": 8, "l40s": 12}, "9500m", "67072Mi", None)


def test_requests_count_and_limits_do_not() -> None:
    """A limit alone is the request too, as for the scheduler."""
    apart = {"cpu": {"request": 4, "limit": 8}, "memory": {"limit": "8Gi"}}
    assert plan(roles={"worker": {"replicas": 2, **apart}}).totals == Totals(2, {}, "8", "16Gi", None)


def test_a_role_without_a_request_has_no_sum() -> None:
    totals = plan(
        roles={"worker": {"cpu": 8}, "watcher": {"ranked": False, "command": ["python"], "memory": "1Gi"}}
    ).totals
    assert (totals.cpu, totals.memory, totals.accelerators) == ("", "", {})


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        ({}, ""),
        ({"a800": PRICE}, "67.20 USD (prices of 2026-01-01)"),
        ({"a800": {**PRICE, "amount": 0}}, "0.00 USD (prices of 2026-01-01)"),
        ({"a800": {**PRICE, "amount": 0.1}}, "3.20 USD (prices of 2026-01-01)"),
    ],
)
def test_cost(prices: dict[str, Any], cost: str) -> None:
    made = plan(cluster=cluster(**prices), roles=WITH_EXTRAS)
    assert dated(made) == cost
    shown = as_data(made)["totals"]["cost_per_hour"]
    assert shown == ({"amount": float(cost.split()[0]), "currency": "USD", "as_of": "2026-01-01"} if cost else None), (
        "numbers for machines"
    )


def dated(made: Plan) -> str:
    cost = made.totals.cost_per_hour
    return "" if cost is None else cost.dated


def test_cost_needs_every_price_in_one_currency() -> None:
    roles = {"worker": {"accelerators": {"a800": 8}}, "helper": {"accelerators": {"l40s": 1}}}
    later = {**PRICE, "amount": 1, "as_of": datetime.date(2026, 6, 1)}
    assert dated(plan(cluster=cluster(a800=PRICE), roles=roles)) == ""
    assert dated(plan(cluster=cluster(a800=PRICE, l40s={**later, "currency": "CNY"}), roles=roles)) == ""
    assert dated(plan(cluster=cluster(a800=PRICE, l40s=later), roles=roles)) == "17.80 USD (prices of 2026-01-01)"


def test_a_plan_is_total_for_every_pair_of_models() -> None:
    """Names that the environment does not know are left out of the plan; the problems tell them."""
    unknown = experiment(
        roles={"worker": {"accelerators": {"h100": 8}}},
        queue="nowhere",
        network={"rdma": True},
        storage={"x": {"size": "1Gi", "class": "no", "mount": "/x"}},
    )
    made = draft_plan(unknown, environment(rdma=None))
    assert made.totals.accelerators == {"h100": 8}
    assert made.totals.cost_per_hour is None
    assert made.roles[0].resources == {}
