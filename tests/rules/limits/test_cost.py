"""What all pods of a job cost together."""

from __future__ import annotations

import datetime
from typing import Any

from tests.rules.limits.cases import by_job, by_role, cluster, found, limited, pod, raw
from tests.support.samples import CLUSTER, plan
from trainform.spec import Environment


def priced(limit: float | None = 16, currency: str = "USD", **prices: tuple[float, str] | None) -> Environment:
    """The environment with these prices, and a limit."""
    kinds = {
        name: {**CLUSTER["accelerators"][name],
            **({} if price is None else {"price_per_hour": {"amount": price[0], "currency": price[1],
                        "as_of": datetime.date(2026, 1, 1)}})}
        for name, price in prices.items()
    }  # fmt: skip
    limits = {} if limit is None else {"max_cost_per_hour": {"amount": limit, "currency": currency}}
    return cluster(accelerators=kinds, queues={}, limits=limits)


def workers(replicas: int, kind: str = "a800", count: int = 8) -> dict[str, Any]:
    return {"roles": {"worker": {"replicas": replicas, "accelerators": {kind: count}}}}


def test_cost_per_hour() -> None:
    two = priced(a800=(1, "USD"), l40s=(0.1, "USD"))
    assert (
        found("TF-COST-1", two, **workers(2)) == found("TF-COST-1", priced(None, a800=(9, "USD")), **workers(2)) == {}
    )
    assert found("TF-COST-1", two, **workers(3)) == {
        "roles": "the pods cost 24.00 USD (prices of 2026-01-01) an hour together; the environment allows 16.00 USD"
    }
    cost = plan(cluster=two, **workers(2)).totals.cost_per_hour
    assert cost is not None
    assert cost.dated == "16.00 USD (prices of 2026-01-01)"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), **workers(1, "l40s", 3)) == {}, "exact to the cent"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), **workers(1, "l40s", 4)) != {}
    assert found("TF-COST-1", two) == {}, "no accelerators, no price"


def test_a_cost_that_is_not_known() -> None:
    assert found("TF-COST-1", priced(a800=None), **workers(1)) == {
        "roles": "the cost per hour is not known (no price of a800), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "EUR")), **workers(1)) == {
        "roles": "the cost per hour is known in EUR, and the environment's limit is in USD"
    }
    both = {"a": {"replicas": 1, "accelerators": {"a800": 1}}, "b": {"replicas": 1, "accelerators": {"l40s": 1}}}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=(1, "EUR")), roles=both) == {
        "roles": "the cost per hour is not known (prices in several currencies), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), roles=both).keys() == {"roles"}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), **workers(1)) == {}, "the kind is not in use"


def test_the_cost_of_what_patches_ask_for() -> None:
    one = priced(a800=(1, "USD"))
    resource = CLUSTER["accelerators"]["a800"]["resource"]

    def more(count: int) -> dict[str, Any]:
        return {"spec": {"containers": {"main": {"resources": {"limits": {resource: count}}}}}}

    for judge in (by_role, by_job):
        assert judge("TF-COST-1", one, more(8)) == {}
        assert judge("TF-COST-1", one, more(9)).keys() == {"roles"}
    sidecar = {"containers": [{"resources": {"requests": {resource: "17"}}}]}
    assert raw("TF-COST-1", one, {}, pod(sidecar)).keys() == {"roles"}
    assert raw("TF-COST-1", limited(), {}, pod(sidecar)) == {}
