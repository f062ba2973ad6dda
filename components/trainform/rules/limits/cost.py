"""What all pods of a job cost together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from trainform.errors import list_names
from trainform.plan.totals import hourly_cost
from trainform.rules.limits.demands import by_kind
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment


def per_hour(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Jobs that cost more than the environment allows, or whose cost is not known."""
    limit = environment.limits.max_cost_per_hour
    counts = {kind: sum(each.total for each in of_kind) for kind, of_kind in by_kind(judged, environment).items()}
    if limit is None or not any(counts.values()):
        return
    allowed = f"{Decimal(str(limit.amount)):.2f} {limit.currency}"
    cost = hourly_cost(counts, environment)
    if cost is None:
        reason = f"the cost per hour is not known ({_gap(counts, environment)}), and the environment allows {allowed}"
        yield _of_all(reason, "ask the platform team for `price_per_hour` of every accelerator")
    elif cost.currency != limit.currency:
        reason = f"the cost per hour is known in {cost.currency}, and the environment's limit is in {limit.currency}"
        yield _of_all(reason, "ask the platform team for prices and limit in one currency")
    elif cost.amount > Decimal(str(limit.amount)):
        shown = cost.dated
        reason = f"the pods cost {shown} an hour together; the environment allows {allowed}"
        yield _of_all(reason, "ask for fewer replicas or accelerators")


def _of_all(reason: str, fix: str) -> Finding:
    return Finding("roles", None, reason, fix)


def _gap(counts: Mapping[str, int], environment: Environment) -> str:
    """Why the cost is not known."""
    prices = {kind: environment.accelerators[kind].price_per_hour for kind, count in counts.items() if count}
    missing = [kind for kind, price in prices.items() if price is None]
    return f"no price of {list_names(missing)}" if missing else "prices in several currencies"
