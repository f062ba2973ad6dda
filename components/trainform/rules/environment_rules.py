"""Rules for an environment, without an experiment."""

from __future__ import annotations

from collections.abc import Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.rules.limits.table import BY_CODE
from trainform.rules.limits.waivers import ALWAYS_HOLDS, WAIVABLE, unknown_code
from trainform.rules.references import environment_queue_problems, unknown
from trainform.spec.environment import Environment
from trainform.spec.limits import VolumeType

OWN_VOLUMES: tuple[VolumeType, ...] = ("configMap", "emptyDir", "secret")


def environment_problems(environment: Environment) -> list[Problem]:
    """Return every problem of the environment."""
    return [
        *environment_queue_problems(environment),
        *_claims(environment),
        *_accelerators(environment),
        *_codes(environment),
        *_limits(environment),
    ]


def _claims(environment: Environment) -> Iterator[Problem]:
    classes = environment.storage_classes
    for name, claim in environment.claims.items():
        yield from unknown(f"claims.{name}.class", claim.storage_class, classes, "storage class")
    for name in environment.storage_prices:
        yield from unknown(f"storage_prices.{name}", name, classes, "storage class")


def _accelerators(environment: Environment) -> Iterator[Problem]:
    owners: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    for kind, accelerator in environment.accelerators.items():
        nodes = (accelerator.resource, tuple(sorted(accelerator.node_selector.items())))
        if nodes in owners:
            reason = f"the resource is that of {owners[nodes]} too, on the same nodes"
            fix = "give one of the two kinds a node_selector, or remove it"
            yield Problem(f"accelerators.{kind}.resource", accelerator.resource, reason, fix)
        owners.setdefault(nodes, kind)
        if environment.rdma is not None and accelerator.resource == environment.rdma.resource:
            reason = f"the resource is that of the accelerator {kind}"
            yield Problem("rdma.resource", accelerator.resource, reason, "correct one of the two")


def _limits(environment: Environment) -> Iterator[Problem]:
    """Yield limits that no experiment could meet in this environment."""
    limits = environment.limits
    for kind in OWN_VOLUMES:
        if kind not in limits.volume_types:
            reason = f"the list has no {kind}, of which trainform makes volumes itself, so no experiment could run"
            yield Problem("limits.volume_types", None, reason, f"add {kind}")
    if environment.admission == defaults.VOLCANO:
        known = {**environment.queues, defaults.QUEUE: None}
        for index, name in enumerate(() if limits.queues is None else limits.queues):
            yield from unknown(f"limits.queues[{index}]", name, known, "queue")
    most = limits.max_cost_per_hour
    prices = [kind.price_per_hour for kind in environment.accelerators.values()]
    if most is not None and any(price is not None and price.currency != most.currency for price in prices):
        reason = "the accelerators have prices in another currency, so nothing can be compared"
        yield Problem("limits.max_cost_per_hour.currency", most.currency, reason, "write all prices in one currency")


def _codes(environment: Environment) -> Iterator[Problem]:
    for field, known in (("severity", BY_CODE.keys()), ("waivable", WAIVABLE)):
        for code in getattr(environment.limits, field):
            path = f"limits.{field}.{code}"
            if code not in known:
                yield Problem(path, None, *unknown_code(code, known))
            elif code in BY_CODE and BY_CODE[code].fixed:
                yield Problem(path, None, ALWAYS_HOLDS, "remove it")
