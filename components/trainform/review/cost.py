"""What the jobs of a stack cost per hour before and after, by the dated prices of the environment's file."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from msgspec import Struct, structs

from trainform.errors import list_names
from trainform.plan.record import Record
from trainform.plan.totals import hourly_cost
from trainform.review.context import Context, JobReview
from trainform.review.model import Cost, Money
from trainform.review.objects import accelerators_of, demands_of, metadata_of, places_pods
from trainform.spec.environment import Environment

CENT = Decimal("0.01")
TENTH = Decimal("0.1")
HUNDRED = Decimal(100)
PLACES = 2


class Side(Struct, frozen=True):
    """The cost of one side. amount: None if it is not known, or if nothing that has a price runs. why: the reason then,
    as a sentence. known: False if something runs and its cost is not known."""

    amount: Decimal | None
    currency: str = ""
    as_of: datetime.date | None = None
    why: str = ""
    known: bool = True


def cost_of(context: Context) -> Cost:
    """The cost of all jobs of the stack together."""
    if not context.jobs:
        return Cost(unknown="The stack has no job, and nothing else has a price.")
    before, after = sides(context)
    difference = difference_of(before, after)
    days = [side.as_of for side in (before, after) if side.as_of is not None]
    oldest = min(days, default=None)
    percent = percent_of(before, difference)
    total = None if context.hours is None or after.amount is None else _decimal(Fraction(after.amount) * context.hours)
    return Cost(
        before=_money(before.amount, before.currency),
        after=_money(after.amount, after.currency),
        difference=_money(difference, after.currency or before.currency),
        percent=None if percent is None else f"{percent.quantize(TENTH, ROUND_HALF_UP):+f}",
        prices_of=None if oldest is None else oldest.isoformat(),
        price_age_days=None if oldest is None else (context.today - oldest).days,
        hours=None if context.hours is None else _shown_hours(_decimal(context.hours)),
        total=_money(total, after.currency),
        known=before.known and after.known,
        unknown=" ".join(dict.fromkeys(side.why for side in (before, after) if side.why)),
    )


def sides(context: Context) -> tuple[Side, Side]:
    """The cost before and after."""
    return _before(context), _after(context)


def difference_of(before: Side, after: Side) -> Decimal | None:
    """What the stack costs more in an hour than before; None if that is not known, or if neither side has a price. What
    does not run costs nothing."""
    amounts = [side.amount for side in (before, after) if side.amount is not None]
    currencies = {side.currency for side in (before, after) if side.currency}
    if not before.known or not after.known or not amounts or len(currencies) > 1:
        return None
    return (after.amount or Decimal(0)) - (before.amount or Decimal(0))


def percent_of(before: Side, difference: Decimal | None) -> Decimal | None:
    """The difference in percent of what the stack costs before; None if that is nothing, or not known."""
    return None if difference is None or not before.amount else difference / before.amount * HUNDRED


def _before(context: Context) -> Side:
    deployed = [job for job in context.jobs if job.before is not None or _exists(job)]
    idle = {job.name: phase for job in deployed if (phase := _idle(job, context))}
    running = [job for job in deployed if job.name not in idle]
    notes = [
        f"The job {_job_name(job)} is {idle[job.name]} and costs nothing now." for job in deployed if job.name in idle
    ]
    if not running:
        return Side(None, why=" ".join(notes) if notes else "Nothing is deployed, so nothing costs anything now.")
    return _with_notes(_side([(job, job.before) for job in running], context.environment, after=False), notes)


def _after(context: Context) -> Side:
    staying = [
        job for job in context.jobs if job.after is not None or (job.job is not None and job.job.new is not None)
    ]
    running = [job for job in staying if places_pods(job) or not _idle(job, context)]
    if not running:
        return Side(None, why="" if staying else "No job is left, so nothing costs anything afterwards.")
    return _side([(job, job.after) for job in running], context.environment, after=True)


def _with_notes(side: Side, notes: Iterable[str]) -> Side:
    return structs.replace(side, why=" ".join([*notes, *([side.why] if side.why else [])]))


def _exists(job: JobReview) -> bool:
    return job.job is not None and job.job.old is not None


def _job_name(job: JobReview) -> str:
    name = None if job.job is None else metadata_of(job.job.old).get("name")
    return str(name) if name else job.name if job.before is None else job.before.job


def _idle(job: JobReview, context: Context) -> str:
    """Why the deployed job takes no accelerators now, as a word after `is`; "" if it does, or if the cluster was not
    asked."""
    if context.live is None or context.live.jobs is None or not (job.before is not None or _exists(job)):
        return ""
    name = _job_name(job)
    found = next((each for each in context.live.jobs if each.name == name), None)
    if found is None:
        gone = any(each.endswith(f"/{name}") for each in context.live.missing)
        return "not in the cluster" if gone else ""
    return found.phase if found.is_over or (found.phase == "Pending" and not found.pods.get("Running")) else ""


def _side(jobs: Iterable[tuple[JobReview, Record | None]], environment: Environment | None, *, after: bool) -> Side:
    """The cost of all pods: as their templates are, or else as the roles in the records are."""
    counts: Counter[str] = Counter()
    for job, record in jobs:
        if record is None:
            why = f"The cost is not known: no record says what the job {job.name} is made of."
            return Side(None, why=why, known=False)
        counts.update(accelerators_of(demands_of(job, environment, after=after), record.experiment.get("roles")))
    used = {kind: count for kind, count in sorted(counts.items()) if count}
    if not used:
        return Side(None, why="The jobs have no accelerators, so they have no price.")
    if environment is None:
        why = "The cost is not known: the environment's file, which has the prices, cannot be read."
        return Side(None, why=why, known=False)
    cost = hourly_cost(used, environment) if used.keys() <= environment.accelerators.keys() else None
    if cost is None:
        return Side(None, why=f"The cost is not known: {_gap(used, environment)}.", known=False)
    return Side(cost.amount, cost.currency, cost.as_of)


def _gap(used: Iterable[str], environment: Environment) -> str:
    kinds = environment.accelerators
    missing = [kind for kind in used if kind not in kinds or kinds[kind].price_per_hour is None]
    return f"no price of {list_names(missing)}" if missing else "its prices are in several currencies"


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator


def _shown_hours(hours: Decimal) -> str:
    """The hours with two places; of less than a tenth with two digits, since a short run is not 0 hours long."""
    places = max(PLACES, PLACES - 1 - hours.adjusted())
    return f"{hours.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP).normalize():f}"


def _money(amount: Decimal | None, currency: str) -> Money | None:
    if amount is None:
        return None
    return Money(amount=amount.quantize(CENT, ROUND_HALF_UP), currency=currency)
