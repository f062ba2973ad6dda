"""The kind of accelerator for which a pod counts, and its cost."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw, workers
from tests.support.samples import CLUSTER, environment, plan
from trainform.rules.limits.resources import demands
from trainform.rules.limits.rule import Judged
from trainform.spec.environment import Environment

GPU = "nvidia.com/gpu"


def price(amount: float, currency: str = "USD") -> dict[str, Any]:
    return {"amount": amount, "currency": currency, "as_of": datetime.date(2026, 1, 1)}


def kind_of(cost: float | None, per_node: int = 8, **selector: str) -> dict[str, Any]:
    given = {} if cost is None else {"price_per_hour": price(cost)}
    return {"resource": GPU, "per_node": per_node, "nodes": 4, "node_selector": selector, **given}


KINDS = {"a10": kind_of(1, pool="a10"), "b200": kind_of(9, pool="b200"), "h100": kind_of(4, pool="h100")}
WHERE = environment(accelerators=KINDS)
OPEN = environment(accelerators={**KINDS, "any": kind_of(0.5)}, node_selector={"zone": "a"})


def counted(where: Any, **spec: Any) -> str:
    """The kind as which a pod with one accelerator counts."""
    containers = [{"name": "main", "image": "python", "resources": {"limits": {GPU: 1}}}]
    (demand,) = demands(Judged({}, (pod({"containers": containers, **spec}),)), where)
    return demand.kind


STEERING: list[dict[str, Any]] = [
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]}
        }
    },
    {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}},
]
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}


@pytest.mark.parametrize("pool", KINDS)
def test_a_selector_names_the_kind(pool: str) -> None:
    assert counted(WHERE, nodeSelector={"pool": pool}) == pool
    assert counted(OPEN, nodeSelector={"pool": pool, "zone": "a"}) == pool


@pytest.mark.parametrize("affinity", STEERING)
def test_an_affinity_counts_as_the_dearest_kind(affinity: dict[str, Any]) -> None:
    assert counted(OPEN, affinity=affinity) == "b200"
    assert counted(OPEN, affinity=affinity, nodeSelector={"pool": "a10"}) == "a10"
    assert counted(OPEN, affinity=APART) == "any"


def test_labels_that_no_kind_has_may_be_those_of_any_node() -> None:
    assert counted(OPEN, nodeSelector={"zone": "a"}) == "any", "the environment's own"
    assert counted(OPEN) == "any"
    assert counted(OPEN, nodeSelector={"zone": "a", "nvidia.com/gpu.product": "B200"}) == "b200"


def test_a_kind_without_a_price_counts_as_the_dearest() -> None:
    where = environment(accelerators={**KINDS, "new": kind_of(None, pool="new")})
    assert counted(where, affinity=STEERING[0]) == "new"


def test_the_cost_of_an_affinity_to_dearer_nodes() -> None:
    where = environment(
        accelerators={"any": kind_of(1), "h100": kind_of(9, pool="h100")},
        limits={"max_cost_per_hour": {"amount": 5, "currency": "USD"}},
    )
    role = {"replicas": 1, "accelerators": {"any": 1}}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": APART}}, **role) == {}
    reason = "the pods cost 9.00 USD (prices of 2026-01-01) an hour together; the environment allows 5.00 USD"
    expected = {"roles": reason}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": STEERING[0]}}, **role) == expected
    assert by_role("TF-COST-1", where, {}, **role, node_affinity={"require": {"pool": ["h100"]}}) == expected


def priced(limit: float | None = 16, currency: str = "USD", **prices: tuple[float, str] | None) -> Environment:
    """The environment with these prices, and a limit."""
    kinds = {
        name: {**CLUSTER["accelerators"][name], **({} if given is None else {"price_per_hour": price(*given)})}
        for name, given in prices.items()
    }
    limits = {} if limit is None else {"max_cost_per_hour": {"amount": limit, "currency": currency}}
    return environment(accelerators=kinds, queues={}, limits=limits)


def test_cost_per_hour() -> None:
    two = priced(a800=(1, "USD"), l40s=(0.1, "USD"))
    assert (
        found("TF-COST-1", two, roles=workers(2))
        == found("TF-COST-1", priced(None, a800=(9, "USD")), roles=workers(2))
        == {}
    )
    assert found("TF-COST-1", two, roles=workers(3)) == {
        "roles": "the pods cost 24.00 USD (prices of 2026-01-01) an hour together; the environment allows 16.00 USD"
    }
    cost = plan(cluster=two, roles=workers(2)).totals.cost_per_hour
    assert cost is not None
    assert cost.dated == "16.00 USD (prices of 2026-01-01)"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), roles=workers(1, 3, "l40s")) == {}, "exact to the cent"
    assert found("TF-COST-1", priced(0.3, l40s=(0.1, "USD")), roles=workers(1, 4, "l40s")) != {}
    assert found("TF-COST-1", two) == {}, "no accelerators, no price"


def test_a_cost_that_is_not_known() -> None:
    assert found("TF-COST-1", priced(a800=None), roles=workers(1)) == {
        "roles": "the cost per hour is not known (no price of a800), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "EUR")), roles=workers(1)) == {
        "roles": "the cost per hour is known in EUR, and the environment's limit is in USD"
    }
    both = {"a": {"replicas": 1, "accelerators": {"a800": 1}}, "b": {"replicas": 1, "accelerators": {"l40s": 1}}}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=(1, "EUR")), roles=both) == {
        "roles": "the cost per hour is not known (prices in several currencies), and the environment allows 16.00 USD"
    }
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), roles=both).keys() == {"roles"}
    assert found("TF-COST-1", priced(a800=(1, "USD"), l40s=None), roles=workers(1)) == {}, "the kind is not in use"


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
