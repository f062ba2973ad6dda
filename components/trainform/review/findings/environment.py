"""Findings about an environment's own stack: what its limits and gates allow, and what its prices, nodes and namespace
mean for the experiments that are deployed in it."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names, shorten
from trainform.releases.gates import needs_release
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.findings.cost import level_of_rise
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.review.settings import PLATFORM, Settings, all_settings

LOOSENED = kind("TR-ENVIRONMENT-1")
NO_LONGER_PASSES = kind("TR-ENVIRONMENT-2")
PRICE = kind("TR-ENVIRONMENT-3")
NAMESPACE = kind("TR-ENVIRONMENT-4")
NOT_KEPT_YET = kind("TR-ENVIRONMENT-5")
MOST_STACKS = 5


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings about the settings of each environment, and about its namespace."""
    for settings in all_settings(context):
        yield from _loosened(settings, context)
        yield from _no_longer_passes(settings)
        yield from _prices(settings, context)
        yield from _namespace(settings, context)
    for step in steps.of_kind(context.preview.steps, steps.NAMESPACE):
        stays = steps.fate(step) in ("none", "update") and f"{PLATFORM}::" in step.state.parent
        if stays and step.old is not None and step.new is not None and step.new.keep and not step.old.keep:
            title = f"The state does not yet say that the namespace {steps.name_before(step)} is kept."
            yield NOT_KEPT_YET.finding(steps.name_before(step), title=title)


def _loosened(settings: Settings, context: Context) -> Iterator[Finding]:
    """Yield a finding for each setting; one for all gates where stacks need no release any more."""
    environment, looser = settings.after.name, [setting for setting in settings.changed if setting.looser]
    if needs_release(settings.before.promotion) and not needs_release(settings.after.promotion):
        gates = [setting.path for setting in looser if setting.gate]
        looser = [setting for setting in looser if not setting.gate]
        named = list_names([f"`{path}`" for path in gates], MOST_STACKS)
        title = f"{environment} no longer takes releases only, so its stacks may follow any file; loosened: {named}."
        place = context.locate("environment.promotion")
        yield LOOSENED.finding(environment, place.path, before=", ".join(gates), title=title, place=place)
    for setting in looser:
        what = "gate" if setting.gate else "limit"
        title = f"The {what} `{setting.path}` is loosened: {_value(setting.before)} → {_value(setting.after)}."
        place = context.locate(f"environment.{setting.path}")
        yield LOOSENED.finding(environment, place.path, setting.before, setting.after, title=title, place=place)


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
    if not settings.repriced:
        return
    path = next(setting.path for setting in settings.changed if ".price_per_hour" in setting.path)
    place, stacks = context.locate(f"environment.{path}"), list_names(settings.repriced, MOST_STACKS)
    if settings.price_change is None:
        why = "the difference is unknown, since a price is missing or in another currency"
        yield PRICE.finding(settings.after.name, place.path, title=f"Other prices for {stacks}: {why}.", place=place)
        return
    before, after = settings.price_change
    rise = after.amount - before.amount
    level = level_of_rise(rise, rise / before.amount * 100 if before.amount else None, settings.after.cost_levels)
    title = f"Other prices: {rise:+.2f} {after.currency}/h for {stacks}: {before.text}/h → {after.text}/h."
    yield PRICE.weighing(level).finding(
        settings.after.name, place.path, f"{before.text}/h", f"{after.text}/h", title=title, place=place
    )


def _namespace(settings: Settings, context: Context) -> Iterator[Finding]:
    before, after = settings.before.namespace.name, settings.after.namespace.name
    stacks = [impact.user.stack for impact in settings.impacts]
    if before != after and stacks:
        title = f"The namespace changes from {before} to {after}; deployed in {before}: {list_names(stacks)}."
        place = context.locate("environment.namespace.name")
        yield NAMESPACE.finding(before, place.path, before, after, title=title, place=place)
