"""As which kind of accelerator the pods count that may land on several."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.rules.limits.cases import by_role, cluster, pod
from trainform.rules.limits.resources import demands
from trainform.rules.limits.rule import Judged

GPU = "nvidia.com/gpu"


def price(amount: float) -> dict[str, Any]:
    return {"amount": amount, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}


def kind(cost: float | None, per_node: int = 8, **selector: str) -> dict[str, Any]:
    given = {} if cost is None else {"price_per_hour": price(cost)}
    return {"resource": GPU, "per_node": per_node, "nodes": 4, "node_selector": selector, **given}


KINDS = {"a10": kind(1, pool="a10"), "b200": kind(9, pool="b200"), "h100": kind(4, pool="h100")}
WHERE = cluster(accelerators=KINDS)
OPEN = cluster(accelerators={**KINDS, "any": kind(0.5)}, node_selector={"zone": "a"})


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
    where = cluster(accelerators={**KINDS, "new": kind(None, pool="new")})
    assert counted(where, affinity=STEERING[0]) == "new"


def test_the_cost_of_an_affinity_to_dearer_nodes() -> None:
    where = cluster(
        accelerators={"any": kind(1), "h100": kind(9, pool="h100")},
        limits={"max_cost_per_hour": {"amount": 5, "currency": "USD"}},
    )
    role = {"replicas": 1, "accelerators": {"any": 1}}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": APART}}, **role) == {}
    told = {"roles": "the pods cost 9.00 USD (prices of 2026-01-01) an hour together; the environment allows 5.00 USD"}
    assert by_role("TF-COST-1", where, {"spec": {"affinity": STEERING[0]}}, **role) == told
