"""Findings about an environment's own stack and the experiments that are deployed in it."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.deployed.releases.gates import needs_release
from trainform.errors import list_names, shorten
from trainform.review import steps
from trainform.review.context import Context
from trainform.review.findings.cost import level_of_rise
from trainform.review.kinds import kind
from trainform.review.model import Finding
from trainform.review.settings import Settings, all_settings, deployed_users, platform_causes

LOOSENED = kind("TR-ENVIRONMENT-1")
NO_RELEASES = kind("TR-ENVIRONMENT-1", "releases")
NO_LONGER_PASSES = kind("TR-ENVIRONMENT-2")
PRICE = kind("TR-ENVIRONMENT-3")
PRICE_UNKNOWN = kind("TR-ENVIRONMENT-3", "unknown")
NAMESPACE = kind("TR-ENVIRONMENT-4")
RESTARTS = kind("TR-RESTART-6")
CLASS_GONE = kind("TR-ENVIRONMENT-7")
MOST_STACKS = 5


def find(context: Context) -> Iterator[Finding]:
    """Yield the findings about the settings of each environment, and about its priority classes."""
    for settings in all_settings(context):
        yield from _loosened(settings, context)
        yield from _no_longer_passes(settings)
        yield from _prices(settings, context)
        yield from _namespace(settings, context)
        stacks = [*settings.restarted]
        if stacks and settings.before.namespace.name == settings.after.namespace.name:
            yield RESTARTS.finding(settings.after.name, after=stacks, stacks=list_names(stacks, MOST_STACKS))
    yield from _classes(context)


def _classes(context: Context) -> Iterator[Finding]:
    """Yield the priority classes that are removed while deployed experiments use them."""
    for step in steps.of_kind(context.preview.steps, steps.PRIORITY_CLASS):
        name = steps.name_before(step)
        stacks = [user.stack for user in deployed_users(context) if (steps.PRIORITY_CLASS, name) in user.uses]
        if stacks and steps.action(step) == "delete":
            place = next((cause.place for cause in platform_causes(step, context)), None)
            words = {"stacks": list_names(stacks, MOST_STACKS), "verb": "uses" if len(stacks) == 1 else "use"}
            yield CLASS_GONE.finding(name, after=stacks, place=place, **words)


def _loosened(settings: Settings, context: Context) -> Iterator[Finding]:
    """Yield a finding for each setting; one for all gates where stacks need no release any more."""
    environment, looser = settings.after.name, [setting for setting in settings.changed if setting.looser]
    if needs_release(settings.before.promotion) and not needs_release(settings.after.promotion):
        gates = [setting.path for setting in looser if setting.gate]
        looser = [setting for setting in looser if not setting.gate]
        named = list_names([f"`{path}`" for path in gates], MOST_STACKS)
        place = context.locate("environment.promotion")
        yield NO_RELEASES.finding(environment, place.path, before=", ".join(gates), place=place, gates=named)
    for setting in looser:
        place = context.locate(f"environment.{setting.path}")
        words = {"what": "gate" if setting.gate else "limit", "path": setting.path}
        words |= {"was": _value(setting.before, "none"), "will": _value(setting.after, "any")}
        yield LOOSENED.finding(environment, place.path, setting.before, setting.after, place=place, **words)


def _value(value: object, empty: str) -> str:
    """Return the value of a loosened setting. empty: a loosened list that ends empty allows anything."""
    if isinstance(value, dict):
        value = " ".join(map(str, value.values()))
    if isinstance(value, list):
        value = list_names([str(item) for item in value], MOST_STACKS) if value else empty
    return "not set" if value is None else shorten(value)


def _no_longer_passes(settings: Settings) -> Iterator[Finding]:
    failing = {impact.user.stack: impact.fails for impact in settings.impacts if impact.fails}
    if failing:
        named = list_names([f"{stack} ({', '.join(fails)})" for stack, fails in failing.items()], MOST_STACKS)
        first = next(iter(failing.values()))
        reason = f": {next(iter(first.values())).removesuffix('.')}" if len(failing) == 1 else ""
        verb = "1 stack no longer passes" if len(failing) == 1 else f"{len(failing)} stacks no longer pass"
        after = {stack: [*fails] for stack, fails in failing.items()}
        yield NO_LONGER_PASSES.finding(settings.after.name, after=after, verb=verb, stacks=named, reason=reason)


def _prices(settings: Settings, context: Context) -> Iterator[Finding]:
    if not settings.repriced:
        return
    path = next(setting.path for setting in settings.changed if ".price_per_hour" in setting.path)
    place, stacks = context.locate(f"environment.{path}"), list_names(settings.repriced, MOST_STACKS)
    if settings.price_change is None:
        yield PRICE_UNKNOWN.finding(settings.after.name, place.path, place=place, stacks=stacks)
        return
    before, after = settings.price_change
    rise = after.amount - before.amount
    level = level_of_rise(rise, rise / before.amount * 100 if before.amount else None, settings.after.cost_levels)
    shown, words = [f"{each.text}/h" for each in (before, after)], {"rise": f"{rise:+.2f} {after.currency}"}
    about = PRICE.weighing(level)
    yield about.finding(settings.after.name, place.path, *shown, place=place, stacks=stacks, **words)


def _namespace(settings: Settings, context: Context) -> Iterator[Finding]:
    before, after = settings.before.namespace.name, settings.after.namespace.name
    stacks = [impact.user.stack for impact in settings.impacts]
    if before != after and stacks:
        place = context.locate("environment.namespace.name")
        yield NAMESPACE.finding(before, place.path, before, after, place=place, stacks=list_names(stacks))
