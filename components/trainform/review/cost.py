"""What the jobs and claims of a stack cost per hour before and after, by the dated prices of the environment's file."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from msgspec import Struct, structs

from trainform.backends.workloads import value_at
from trainform.errors import list_names
from trainform.manifests.shapes import quantity
from trainform.plan.record import Record
from trainform.plan.totals import hourly_cost
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.fate import Fate, fate
from trainform.review.model import Cost, Money
from trainform.review.objects import accelerators_of, demands_of, places_pods, templates_of
from trainform.review.preview import State, Step
from trainform.spec.environment import Environment

CENT = Decimal("0.01")
TENTH = Decimal("0.1")
HUNDRED = Decimal(100)
PLACES = 2
GIBIBYTE = 1 << 30
HOURS_OF_A_MONTH = 730
CLAIM_SIZE, CLAIM_CLASS = "spec.resources.requests.storage", "spec.storageClassName"
SEVERAL_CURRENCIES = "its prices are in several currencies"


class Side(Struct, frozen=True):
    """The cost of one side. amount: None if it is unknown, or if nothing with a price runs. why: the reason then, as a
    sentence. known: False if something runs whose cost is unknown. as_of: the day of the oldest price."""

    amount: Decimal | None
    currency: str = ""
    as_of: datetime.date | None = None
    why: str = ""
    known: bool = True


def cost_of(context: Context) -> Cost:
    """Return the cost of all jobs and claims of the stack together."""
    before, after = sides(context)
    if not context.jobs and before.amount is None and after.amount is None:
        return Cost(unknown="The stack has no job, and nothing else has a price.")
    difference = difference_of(before, after)
    oldest = oldest_price(before, after)
    percent = percent_of(before, difference)
    total = None if context.hours is None or after.amount is None else _decimal(Fraction(after.amount) * context.hours)
    spent = [each for job in context.jobs if (each := spent_by(fate(context, job), context)) is not None]
    currency = after.currency or before.currency
    return Cost(
        before=money(before.amount, before.currency),
        after=money(after.amount, after.currency),
        difference=money(difference, currency),
        percent=None if percent is None else f"{percent.quantize(TENTH, ROUND_HALF_UP):+f}",
        prices_of=None if oldest is None else oldest.isoformat(),
        price_age_days=None if oldest is None else (context.today - oldest).days,
        hours=None if context.hours is None else _shown_hours(_decimal(context.hours)),
        total=money(total, after.currency),
        spent=money(sum((each.amount for each in spent), Decimal(0)), spent[0].currency) if spent else None,
        known=before.known and after.known,
        unknown=" ".join(dict.fromkeys(side.why for side in (before, after) if side.why)),
    )


def sides(context: Context) -> tuple[Side, Side]:
    """Return the cost before and after."""
    return _with_claims(_before(context), context, after=False), _with_claims(_after(context), context, after=True)


def difference_of(before: Side, after: Side) -> Decimal | None:
    """Return what the stack costs more in an hour than before; None if that is unknown, or if neither side has a price.
    What does not run costs nothing."""
    amounts = [side.amount for side in (before, after) if side.amount is not None]
    currencies = {side.currency for side in (before, after) if side.currency}
    if not before.known or not after.known or not amounts or len(currencies) > 1:
        return None
    return (after.amount or Decimal(0)) - (before.amount or Decimal(0))


def percent_of(before: Side, difference: Decimal | None) -> Decimal | None:
    """Return the difference in percent of the cost before; None if that is nothing, or unknown."""
    return None if difference is None or not before.amount else difference / before.amount * HUNDRED


def oldest_price(*given: Side) -> datetime.date | None:
    """Return the day of the oldest price of the sides."""
    return min((side.as_of for side in given if side.as_of is not None), default=None)


def spent_by(happens: Fate, context: Context) -> Money | None:
    """Return what a running job that is replaced or deleted has cost since its first pod began; None if that is
    unknown."""
    live = happens.live
    if happens.kind not in ("replace", "delete") or not happens.is_running or live is None or context.live is None:
        return None
    side = _side([(happens.job, happens.job.before)], context.environment, after=False)
    if side.amount is None:
        return None
    try:
        began, now = map(datetime.datetime.fromisoformat, (live.started, context.live.read_at))
        hours = Fraction(int((now - began).total_seconds()), 3600)
    except (TypeError, ValueError):
        return None
    return money(_decimal(Fraction(side.amount) * max(hours, Fraction(0))), side.currency)


# --- jobs


def _before(context: Context) -> Side:
    deployed = [job for job in context.jobs if job.before is not None or _exists(job)]
    running = [job for job in deployed if not _idle(job, context)]
    notes = [
        f"The job {fate(context, job).name} is {idle} and costs nothing now."
        for job in deployed
        if (idle := _idle(job, context))
    ]
    if not running:
        return Side(None, why=" ".join(notes) if notes else "Nothing is deployed, so nothing costs anything now.")
    side = _side([(job, job.before) for job in running], context.environment, after=False)
    return structs.replace(side, why=" ".join(filter(None, [*notes, side.why])))


def _after(context: Context) -> Side:
    staying = [
        job for job in context.jobs if job.after is not None or (job.job is not None and job.job.new is not None)
    ]
    running = [job for job in staying if places_pods(job) or not _idle(job, context)]
    if not running:
        return Side(None, why="" if staying else "No job is left, so nothing costs anything afterwards.")
    return _side([(job, job.after) for job in running], context.environment, after=True)


def _exists(job: JobReview) -> bool:
    return job.job is not None and job.job.old is not None


def _idle(job: JobReview, context: Context) -> str:
    """Return why the deployed job takes no accelerators now, as a word after `is`; "" if it does, or if that is
    unknown."""
    happens = fate(context, job)
    if happens.state == "absent":
        return "not in the cluster"
    phase = "" if happens.live is None else happens.live.phase
    return phase if happens.is_finished or (happens.state == "pending" and phase == "Pending") else ""


def _side(jobs: Iterable[tuple[JobReview, Record | None]], environment: Environment | None, *, after: bool) -> Side:
    """Return the cost of all pods: as their templates are, or else as the roles in the records are."""
    counts: Counter[str] = Counter()
    for job, record in jobs:
        if record is None and templates_of(job, environment, after=after) is None:
            return _unknown(f"no record says what the job {job.name} is made of")
        roles = {} if record is None else record.experiment.get("roles")
        counts.update(accelerators_of(demands_of(job, environment, after=after), roles))
    used = {kind: count for kind, count in sorted(counts.items()) if count}
    if not used:
        return Side(None, why="The jobs have no accelerators, so they have no price.")
    if environment is None:
        return _unknown("the environment's file, which has the prices, cannot be read")
    cost = hourly_cost(used, environment) if used.keys() <= environment.accelerators.keys() else None
    if cost is None:
        return _unknown(_gap(used, environment))
    return Side(cost.amount, cost.currency, cost.as_of)


def _unknown(reason: str) -> Side:
    return Side(None, why=f"{reason}.", known=False)


def _gap(used: Iterable[str], environment: Environment) -> str:
    kinds = environment.accelerators
    missing = [kind for kind in used if kind not in kinds or kinds[kind].price_per_hour is None]
    return f"no price of {list_names(missing)}" if missing else SEVERAL_CURRENCIES


# --- claims


def _with_claims(side: Side, context: Context, *, after: bool) -> Side:
    """Return the side with the claims whose storage class has a price."""
    environment = context.environment
    if environment is None or not environment.storage_prices or not side.known:
        return side
    prices = {environment.storage_classes.get(short): price for short, price in environment.storage_prices.items()}
    amount, used = Decimal(0), []
    for state in _claims(context.preview.steps, after=after):
        price = prices.get(value_at({**state.inputs}, CLAIM_CLASS))
        size = quantity(value_at({**state.inputs}, CLAIM_SIZE))
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
        leaves = step.old is not None and step.old.keep and steps.fate(step) in ("delete", "replace")
        if step.operation != "read":
            states = [step.new, step.old if leaves and not steps.is_one_object(step) else None]
            yield from filter(None, states if after else [step.old])


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator


def _shown_hours(hours: Decimal) -> str:
    """Return the hours with two places; of less than a tenth with two digits, since a short run is not 0 hours long."""
    places = max(PLACES, PLACES - 1 - hours.adjusted())
    return f"{hours.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP).normalize():f}"


def money(amount: Decimal | None, currency: str) -> Money | None:
    """Return the amount in whole hundredths; None if there is none."""
    if amount is None:
        return None
    return Money(amount=amount.quantize(CENT, ROUND_HALF_UP), currency=currency)
