"""The reports of all stacks as one review: the worst outcome, and the cost in sum."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.cluster.facts import LiveFacts
from trainform.errors import list_names
from trainform.project import project_root
from trainform.review.context import Context, JobReview
from trainform.review.cost import TENTH, Side, difference_of, money, percent_of
from trainform.review.files import StackFiles
from trainform.review.job_objects import asked_of, missing_secrets, needed_secrets
from trainform.review.jobs import jobs_of
from trainform.review.model import Cost, Money, NotChecked, Outcome, Report, Review, Selection
from trainform.review.preview import Preview
from trainform.review.report import build_report
from trainform.review.settings import namespace_before
from trainform.spec.environment import Environment
from trainform.spec.stack import project_name

if TYPE_CHECKING:
    from trainform.cluster.live import LiveReads

BY_WEIGHT = (Outcome.clean, Outcome.incomplete, Outcome.findings, Outcome.failed)
"""Outcomes, the worst last."""


class Read(Struct, frozen=True):
    """The preview and files of a stack, and the reads of its cluster; None: it is not read."""

    stack: str
    preview: Preview
    files: StackFiles
    reads: LiveReads | None


def review_of_read(
    read: Sequence[Read], selection: Selection | None, hours: Fraction | None, *, ask_cluster: bool
) -> Review:
    """Return the review of all that was read. The cluster is waited for once for all stacks."""
    jobs = [jobs_of(each.preview) for each in read]
    with ThreadPoolExecutor(max(len(read), 1)) as pool:
        live = [*pool.map(_live, read, jobs)]
    contexts = contexts_of(read, jobs, live, hours)
    reports = [_report(each, context, ask_cluster=ask_cluster) for each, context in zip(read, contexts, strict=True)]
    # a comment of an earlier run is found by the project, also where there is no resource
    urns = (step.urn.split("::") for each in read for step in each.preview.steps)
    named = next((parts[1] for parts in urns if len(parts) > 1), None)
    return review_of(reports, selection, project_name(project_root()) if named is None else named)


def _live(read: Read, jobs: tuple[JobReview, ...]) -> LiveFacts | None:
    """Return what the cluster reports; None if it is not asked."""
    if read.reads is None:
        return None
    if read.files.users is not None and read.files.environment is not None:
        model = read.files.environment
        read.reads.list_deployed(model.name, namespace_before(read.preview) or model.namespace.name)
    deployed, objects = asked_of(read.preview, jobs)
    return read.reads.facts(deployed, (*objects, *needed_secrets(read.preview, jobs)))


def contexts_of(
    read: Sequence[Read],
    jobs: Sequence[tuple[JobReview, ...]],
    live: Sequence[LiveFacts | None],
    hours: Fraction | None,
) -> list[Context]:
    """Return all about each stack, with the stacks on its cluster that are deployed before it."""
    today = datetime.datetime.now(datetime.UTC).date()
    found: dict[int, Context] = {}
    for at in sorted(range(len(read)), key=lambda at: read[at].files.users is None):
        files, where = read[at].files, _cluster(read[at].files.environment)
        earlier = (other for other in found.values() if where is not None and _cluster(other.environment) == where)
        found[at] = Context(
            read[at].stack,
            read[at].preview,
            jobs[at],
            environment=files.environment,
            live=live[at],
            locate=files.locate,
            today=today,
            hours=hours,
            users=files.users,
            lacks=files.lacks,
            missing=missing_secrets(needed_secrets(read[at].preview, jobs[at]), live[at]),
            earlier=tuple(earlier),
            origin=files.origin,
        )
    return [found[at] for at in range(len(read))]


def _cluster(environment: Environment | None) -> str | None:
    return None if environment is None else environment.cluster.uid or environment.cluster.context or ""


def _report(read: Read, context: Context, *, ask_cluster: bool) -> Report:
    left_out = [*read.files.left_out]
    if context.live is None:
        why = "Without the environment's file nothing says which one it is." if ask_cluster else "--no-cluster is set."
        left_out.append(NotChecked(what="cluster", reason=why))
    return build_report(context, read.files.checked, left_out)


def review_of(reports: Sequence[Report], selection: Selection | None = None, project: str = "") -> Review:
    """Return the review of these stacks, in this order. selection: why it is these; None: they were named."""
    removed = selection is not None and bool(selection.removed)  # of which nothing is known
    outcomes = [Outcome.incomplete if removed else Outcome.clean, *(report.outcome for report in reports)]
    worst = max(outcomes, key=BY_WEIGHT.index)
    return Review(project=project, outcome=worst, cost=_sum(reports), stacks=list(reports), selection=selection)


def _sum(reports: Sequence[Report]) -> Cost:
    """Return the cost of all stacks together. Amounts in several currencies are not added."""
    costs = [report.cost for report in reports]
    if len(costs) == 1:
        return costs[0]
    oldest = min((cost.prices_of for cost in costs if cost.prices_of is not None), default=None)
    age = max((cost.price_age_days for cost in costs if cost.price_age_days is not None), default=None)
    currencies = {side.currency for cost in costs for side in (cost.before, cost.after) if side is not None}
    if len(currencies) > 1:
        why = f"the stacks have prices in several currencies ({list_names(sorted(currencies))})."
        return Cost(prices_of=oldest, price_age_days=age, known=False, unknown=why)
    unknown = [report.stack for report in reports if not report.cost.known]
    before, after = _side(costs, lambda cost: cost.before), _side(costs, lambda cost: cost.after)
    difference = difference_of(before, after)
    percent = percent_of(before, difference)
    currency = next(iter(currencies), "")
    totals = [cost.total for cost in costs if cost.after is not None]  # all for the length that was given, or none
    amounts = [] if unknown else [total.amount for total in totals if total is not None]
    return Cost(
        before=money(before.amount, currency),
        after=money(after.amount, currency),
        difference=money(difference, currency),
        percent=None if percent is None else f"{percent.quantize(TENTH, ROUND_HALF_UP):+f}",
        prices_of=oldest,
        price_age_days=age,
        hours=next((cost.hours for cost in costs), None),
        total=money(sum(amounts, Decimal(0)), currency) if amounts and len(amounts) == len(totals) else None,
        known=not unknown,
        unknown=f"no cost of {list_names(unknown)}." if unknown else "",
    )


def _side(costs: Sequence[Cost], of: Callable[[Cost], Money | None]) -> Side:
    """Return one side of all stacks, which is known if it is known of each."""
    amounts = [found for cost in costs if (found := of(cost)) is not None]
    if any(of(cost) is None and not cost.known for cost in costs):
        return Side(None, known=False)
    return Side(sum((found.amount for found in amounts), Decimal(0)) if amounts else None)
