"""Cost per hour of the jobs and claims of a stack, before and after, by the dated prices of the environment's file."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal

from msgspec import Struct, structs

from trainform.backends.backend import value_at
from trainform.cluster.live_drift import seconds_between
from trainform.cluster.phases import Phase
from trainform.errors import list_names
from trainform.manifests.manifest import quantity
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.effects import SIZE
from trainform.review.job_change import JobChange, job_change
from trainform.review.job_objects import accelerators_of, demands_of, places_pods, templates_of
from trainform.review.model import Cost, Money
from trainform.review.preview import State, Step
from trainform.review.settings import all_settings
from trainform.spec.environment import Environment, hourly_cost

CENT = Decimal("0.01")
TENTH = Decimal("0.1")
GIBIBYTE = 1 << 30
HOURS_OF_A_MONTH = 730
CLAIM_CLASS = "spec.storageClassName"
ENDING = ("replace", "delete", "suspend")
"""Changes of a job that end its pods."""
IDLE = {  # phases in which a job takes no accelerators
    Phase.QUEUED: "is queued",
    Phase.SUSPENDED: "is suspended",
    Phase.SUCCEEDED: "has succeeded",
    Phase.FAILED: "has failed",
}
SEVERAL_CURRENCIES = "its prices are in several currencies"


class Side(Struct, frozen=True):
    """The cost before or after."""

    amount: Decimal | None
    """None if it is unknown, or if nothing with a price runs."""
    currency: str = ""
    as_of: datetime.date | None = None
    """The day of the oldest price."""
    why: str = ""
    """Why there is no amount, as a sentence."""
    known: bool = True
    """False if something runs whose cost is unknown."""


def cost_of(context: Context) -> Cost:
    """Return the cost of all jobs and claims of the stack together. In the difference of an environment's own stack
    other prices of what is deployed there count too."""
    before = side_of(context, _environment_before(context), after=False)
    after = side_of(context, context.environment, after=True)
    unknown = [each.unknown_cost for each in all_settings(context) if each.unknown_cost]
    if unknown:
        before = after = _unknown(unknown[0])
    difference, currency, base = difference_of(before, after), after.currency or before.currency, before
    days = [side.as_of for side in (before, after) if side.as_of is not None]
    known = before.known and after.known
    for was, will in filter(None, (each.price_change for each in all_settings(context) if known)):
        difference = (difference or Decimal(0)) + will.amount - was.amount
        base = Side((before.amount or Decimal(0)) + was.amount)
        currency, days = was.currency, [*days, was.as_of]
    percent, hours = percent_of(base, difference), context.hours
    total = None if hours is None or after.amount is None else after.amount * hours.numerator / hours.denominator
    return Cost(
        before=money(before.amount, before.currency),
        after=money(after.amount, after.currency),
        difference=money(difference, currency),
        percent=None if percent is None else f"{percent:+f}",
        prices_of=min(days).isoformat() if days else None,
        price_age_days=(context.today - min(days)).days if days else None,
        hours=None if hours is None else f"{float(hours):g}",
        total=money(total, after.currency),
        known=known,
        unknown=" ".join(dict.fromkeys(side.why for side in (before, after) if side.why and side.known is known)),
    )


def side_of(context: Context, environment: Environment | None, *, after: bool) -> Side:
    """Return the cost before or after, by the prices of this environment."""
    return _add_claims(_cost_of_jobs(context, environment, after=after), context, after=after)


def difference_of(before: Side, after: Side) -> Decimal | None:
    """Return the rise of the cost per hour; None if it is unknown, or if nothing has a price."""
    amounts = [side.amount for side in (before, after) if side.amount is not None]
    currencies = {side.currency for side in (before, after) if side.currency}
    if not before.known or not after.known or not amounts or len(currencies) > 1:
        return None
    return (after.amount or Decimal(0)) - (before.amount or Decimal(0))


def percent_of(before: Side, difference: Decimal | None) -> Decimal | None:
    """Return the difference in percent of the cost before, to a tenth; None if that cost is 0 or unknown."""
    if difference is None or not before.amount:
        return None
    return (difference / before.amount * 100).quantize(TENTH, ROUND_HALF_UP)


def spent_by(happens: JobChange, context: Context) -> Money | None:
    """Return the cost of a running job that ends, since its first pod started; None if it is unknown."""
    live = happens.live
    if happens.kind not in ENDING or happens.state != "running" or live is None or context.live is None:
        return None
    side = _side([happens.job], context.environment, after=False)
    seconds = seconds_between(live.started, context.live.read_at)
    return None if side.amount is None or seconds is None else money(side.amount * seconds / 3600, side.currency)


# --- jobs


def _cost_of_jobs(context: Context, environment: Environment | None, *, after: bool) -> Side:
    jobs = [job for job in context.jobs if _exists(job, after=after)]
    idle = {job: _idle_after(job, context) if after else _idle(job, context) for job in jobs}
    running = [job for job in jobs if not idle[job]]
    side = _side(running, environment, after=after) if running else Side(None)
    notes = [
        f"The job {job_change(context, job).name} {why} and costs nothing now." for job, why in idle.items() if why
    ]
    return side if after else structs.replace(side, why=" ".join(filter(None, [*notes, side.why])))


def _environment_before(context: Context) -> Environment | None:
    """Return the environment with the prices from before a stack that the same review deploys earlier."""
    name = None if context.environment is None else context.environment.name
    recorded = (each.before for other in context.earlier for each in all_settings(other) if each.before.name == name)
    return next(recorded, context.environment)


def _exists(job: JobReview, *, after: bool) -> bool:
    record = job.after if after else job.before
    return record is not None or (job.job is not None and (job.job.new if after else job.job.old) is not None)


def _idle(job: JobReview, context: Context) -> str:
    """Return why the deployed job takes no accelerators now, as a predicate; "" if it does, or if unknown."""
    happens = job_change(context, job)
    if happens.state == "absent":
        return "is not in the cluster"
    return "" if happens.live is None or happens.not_read else IDLE.get(happens.live.phase, "")


def _idle_after(job: JobReview, context: Context) -> str:
    """Return why the job takes no accelerators after the change; "" if it does, or if unknown."""
    if places_pods(job):
        return ""
    return IDLE[Phase.SUSPENDED] if job_change(context, job).suspended else _idle(job, context)


def _side(jobs: Iterable[JobReview], environment: Environment | None, *, after: bool) -> Side:
    """Return the cost of all pods, by their templates, or else by the roles in the records."""
    counts: Counter[str] = Counter()
    for job in jobs:
        record = job.after if after else job.before
        if record is None and templates_of(job, environment, after=after) is None:
            return _unknown(f"no record has the roles of the job {job.name}")
        roles = {} if record is None else record.experiment.get("roles")
        counts.update(accelerators_of(demands_of(job, environment, after=after), roles))
    used = {kind: count for kind, count in sorted(counts.items()) if count}
    if not used:
        return Side(None, why="The jobs have no accelerators, so they have no price.")
    if environment is None:
        return _unknown("the environment's file, which has the prices, cannot be read")
    kinds = environment.accelerators
    missing = [kind for kind in used if kind not in kinds or kinds[kind].price_per_hour is None]
    cost = None if missing else hourly_cost(used, environment)
    if cost is None:
        return _unknown(f"no price of {list_names(missing)}" if missing else SEVERAL_CURRENCIES)
    return Side(cost.amount, cost.currency, cost.as_of)


def _unknown(reason: str) -> Side:
    return Side(None, why=f"{reason}.", known=False)


# --- claims


def _add_claims(side: Side, context: Context, *, after: bool) -> Side:
    """Return the side with the claims whose storage class has a price."""
    environment = context.environment
    if environment is None or not environment.storage_prices or not side.known:
        return side
    prices = {environment.storage_classes.get(short): price for short, price in environment.storage_prices.items()}
    amount, used = Decimal(0), []
    for state in _claims(context.preview.steps, after=after):
        price = prices.get(value_at({**state.inputs}, CLAIM_CLASS))
        size = quantity(value_at({**state.inputs}, SIZE))
        if price is not None and size is not None:
            amount += Decimal(str(price.amount)) * size / GIBIBYTE / HOURS_OF_A_MONTH
            used.append(price)
    if not used:
        return side
    currencies = {price.currency for price in used} | ({side.currency} - {""})
    if len(currencies) > 1:
        return _unknown(SEVERAL_CURRENCIES)
    days = [price.as_of for price in used] + ([] if side.as_of is None else [side.as_of])
    return Side((side.amount or Decimal(0)) + amount, currencies.pop(), min(days), side.why)


def _claims(given: Iterable[Step], *, after: bool) -> Iterator[State]:
    """Yield the claims that exist before or after the change. A kept claim that leaves the stack still costs."""
    for step in steps.of_kind((*given,), steps.CLAIM):
        leaves = step.old is not None and step.old.keep and steps.action(step) in ("delete", "replace")
        if step.operation != "read":
            states = [step.new, step.old if leaves and not steps.is_one_object(step) else None]
            yield from filter(None, states if after else [step.old])


def money(amount: Decimal | None, currency: str) -> Money | None:
    """Return the amount in whole hundredths; None if there is none."""
    if amount is None:
        return None
    return Money(amount=amount.quantize(CENT, ROUND_HALF_UP), currency=currency)
