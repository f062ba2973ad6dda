"""Findings about an environment's own stack: what its limits and gates allow, and what its prices, nodes and namespace
mean for the experiments that are deployed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from trainform.errors import list_names, shorten
from trainform.plan.sums import HourlyCost
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.findings.cost import level_of_rise
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.review.platform import PLATFORM
from trainform.review.settings import Setting, Settings, all_settings

LOOSENED = kind("TR-ENVIRONMENT-1")
NO_LONGER_PASSES = kind("TR-ENVIRONMENT-2")
PRICE = kind("TR-ENVIRONMENT-3")
NAMESPACE = kind("TR-ENVIRONMENT-4")
NOT_KEPT_YET = kind("TR-ENVIRONMENT-5")
KINDS = (LOOSENED, NO_LONGER_PASSES, PRICE, NAMESPACE, NOT_KEPT_YET)
CENT = Decimal("0.01")
"""From so many per hour on a higher price is high, and medium."""
MOST_STACKS = 5


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings about the settings of each environment, and about its namespace."""
    for settings in all_settings(context):
        name = settings.after.name
        yield from (_loosened(name, setting, context) for setting in settings.changed if setting.looser)
        yield from _no_longer_passes(settings)
        yield from _prices(settings, context)
        yield from _namespace(settings, context)
    for step in steps.of_kind(context.preview.steps, steps.NAMESPACE):
        stays = steps.fate(step) in ("none", "update") and f"{PLATFORM}::" in step.state.parent
        if stays and step.old is not None and step.new is not None and step.new.keep and not step.old.keep:
            title = f"The state does not yet say that the namespace {steps.name_before(step)} is kept."
            yield NOT_KEPT_YET.finding(steps.name_before(step), title=title)


def _loosened(environment: str, setting: Setting, context: Context) -> Finding:
    what = "gate" if setting.gate else "limit"
    title = f"The {what} `{setting.path}` is loosened: {_value(setting.before)} → {_value(setting.after)}."
    place = context.locate(f"environment.{setting.path}")
    return LOOSENED.finding(environment, place.path, setting.before, setting.after, title=title, place=place)


def _value(value: object) -> str:
    if isinstance(value, dict):
        value = " ".join(map(str, value.values()))
    if isinstance(value, list):
        value = list_names([str(item) for item in value], MOST_STACKS) if value else "none"
    return "not set" if value is None else shorten(value)


def _no_longer_passes(settings: Settings) -> Iterator[Finding]:
    failing = {impact.user.stack: impact.fails for impact in settings.impacts if impact.fails}
    if failing:
        named = list_names([f"{stack} ({', '.join(fails)})" for stack, fails in failing.items()], MOST_STACKS)
        first = next(iter(failing.values()))
        only = f": {next(iter(first.values())).removesuffix('.')}" if len(failing) == 1 else ""
        verb = "1 stack no longer passes" if len(failing) == 1 else f"{len(failing)} stacks no longer pass"
        after = {stack: [*fails] for stack, fails in failing.items()}
        yield NO_LONGER_PASSES.finding(settings.after.name, after=after, title=f"{verb}: {named}{only}.")


def _prices(settings: Settings, context: Context) -> Iterator[Finding]:
    path = next((setting.path for setting in settings.changed if ".price_per_hour" in setting.path), None)
    costs = {impact.user.stack: impact.costs for impact in settings.impacts if impact.costs[0] != impact.costs[1]}
    if path is None or not costs:
        return
    place, stacks = context.locate(f"environment.{path}"), list_names(costs, MOST_STACKS)
    before, after = (_sum(side) for side in zip(*costs.values(), strict=True))
    if before is None or after is None or before[1] != after[1]:
        title = (
            f"Other prices for {stacks}: the difference is unknown, since a price is missing or in another currency."
        )
        yield PRICE.finding(settings.after.name, place.path, title=title, place=place)
        return
    rise = after[0] - before[0]
    percent = rise / before[0] * 100 if before[0] else None
    shown = [f"{amount.quantize(CENT):f} {currency}/h" for amount, currency in (before, after)]
    title = f"Other prices: {rise.quantize(CENT):+f} {after[1]}/h for {stacks}: {shown[0]} → {shown[1]}."
    yield PRICE.weighing(level_of_rise(rise, percent, settings.after.cost_levels)).finding(
        settings.after.name, place.path, *shown, title=title, place=place
    )


def _sum(costs: Sequence[HourlyCost | None]) -> tuple[Decimal, str] | None:
    """The sum of the costs with its currency; None if one of them is unknown, or there are several currencies."""
    known = [cost for cost in costs if cost is not None]
    currencies = {cost.currency for cost in known}
    if len(currencies) != 1 or len(known) < len(costs):
        return None
    return sum((cost.amount for cost in known), Decimal(0)), currencies.pop()


def _namespace(settings: Settings, context: Context) -> Iterator[Finding]:
    before, after = settings.before.namespace.name, settings.after.namespace.name
    stacks = [impact.user.stack for impact in settings.impacts]
    if before != after and stacks:
        title = f"The namespace changes from {before} to {after}; deployed in {before}: {list_names(stacks)}."
        place = context.locate("environment.namespace.name")
        yield NAMESPACE.finding(before, place.path, before, after, title=title, place=place)
