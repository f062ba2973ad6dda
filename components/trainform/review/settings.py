"""The settings of an environment that its own stack records, and their impact on the project's experiments."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from trainform.deployed.releases.gates import needs_release, required_gates
from trainform.errors import Problem, list_names
from trainform.job.render import render_job
from trainform.manifests.differences import Difference, differences, shown
from trainform.plan.inputs import recorded_environment
from trainform.review import steps
from trainform.review.context import Context, User
from trainform.review.model import Change
from trainform.review.preview import Preview, State, Step
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment, HourlyCost
from trainform.spec.quantities import seconds

PLATFORM = "trainform:index:Platform"
SECTIONS = {
    steps.QUEUE: "queues",
    steps.CLAIM: "claims",
    steps.PRIORITY_CLASS: "priority_classes",
    steps.NAMESPACE: "namespace",
}
"""Section of the environment's file by kind of the object."""


def recorded(state: State | None) -> Environment | None:
    """Return the recorded environment; None if there is none, or if this version of trainform cannot read it."""
    try:
        return None if state is None or not state.inputs else recorded_environment(state.inputs)
    except (ValueError, RecursionError):
        return None


def platform_causes(step: Step, context: Context) -> list[Change]:
    """Return the fields of the environment's file that change an object of its own stack."""
    section = SECTIONS.get(steps.kind(step)) if step.is_object else None
    if section is None or f"{PLATFORM}::" not in step.state.parent:
        return []
    keys = (section,) if section == "namespace" else (section, steps.name(step))
    changes = []
    for difference in (difference for each in all_settings(context) for difference in each.differences):
        if difference.keys[: len(keys)] == keys:
            path, (before, after) = f"environment.{difference.path}", shown(difference)
            place = context.locate(path).model_copy(update={"path": path})
            changes.append(Change(place=place, before=before, after=after))
    return changes


NOT_RECORDED = (
    "The settings of the environment {} are not compared: the state of the stack has none that this version of "
    "trainform can read. The next `pulumi up` records them."
)
WITH_OBJECTS = ("queues", "claims", "priority_classes")
"""Sections whose entries are objects of the stack: their changes are those of the objects."""


# --- which value allows more

Room = float | frozenset[str] | None
"""The room that a value allows: a number, a set, or None for anything."""
NONE: frozenset[str] = frozenset()
JUDGED: Mapping[str, tuple[Room, Room, int]] = {
    "limits.waivable.": (NONE, NONE, 1),
    "limits.registries": (None, None, 1),
    "limits.": (None, NONE, 1),
    "promotion.waivable.": (NONE, NONE, 1),
    "promotion.from": (None, None, 1),
    "promotion.": (None, NONE, -1),
    "cost_levels.": (None, NONE, 1),
    "rdma.capabilities": (NONE, NONE, 1),
}
"""Settings that may be looser or tighter, by the start of their paths: the room of a value that is not set, the room of
an empty list, and -1 where a higher number allows less, as for a gate. The first match counts."""
GATES, REQUIRED = "promotion.", "promotion.required"
SEVERITY = "limits.severity."
RANKS = {"error": 0, "warning": 1, "off": 2, "restricted": 0, "baseline": 1, "privileged": 2}


class Setting(Struct, frozen=True):
    """A field of the environment's file that differs. A list may be looser and tighter."""

    path: str
    before: object
    """With defaults; None: not set."""
    after: object
    looser: bool = False
    """It allows something new."""
    tighter: bool = False
    """It no longer allows something."""

    @property
    def gate(self) -> str:
        """Return the gate that the setting belongs to; empty if there is none."""
        return self.path.removeprefix(GATES).partition(".")[0] if self.path.startswith(GATES) else ""


class Impact(Struct, frozen=True):
    """The effect of the settings on one experiment."""

    user: User
    fails: Mapping[str, str]
    """Why it no longer passes, by code of the limit, by gate, or by path of the field."""
    costs: tuple[HourlyCost | None, HourlyCost | None]
    """Before and after."""
    restarts: bool
    """The next `pulumi up` starts its job again."""


class Settings(Struct, frozen=True, dict=True):
    """An environment that is recorded before and after."""

    context: Context
    before: Environment
    after: Environment

    @functools.cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Return all fields that differ."""
        was, will = (
            each.model_dump(mode="json", by_alias=True, exclude={"cluster"}) for each in (self.before, self.after)
        )
        for side in (was, will):  # a section that is added is compared field by field, as one that changes
            side["rdma"] = side["rdma"] or {}
        return tuple(differences(was, will))

    @functools.cached_property
    def changed(self) -> tuple[Setting, ...]:
        """Return the fields that differ, without those that change objects of the stack."""
        return tuple(_setting(each, self) for each in self.differences if not _is_object(each, self))

    @functools.cached_property
    def impacts(self) -> tuple[Impact, ...]:
        """Return the impact on the experiments of the project; if the cluster was read, on the deployed ones."""
        return tuple(_impacts(self)) if self.differences else ()

    @property
    def restarted(self) -> dict[str, str]:
        """Return the experiments by stack whose jobs the next `pulumi up` starts again."""
        return {impact.user.stack: impact.user.experiment for impact in self.impacts if impact.restarts}

    @property
    def repriced(self) -> Mapping[str, tuple[HourlyCost | None, HourlyCost | None]]:
        """Return the costs before and after of each stack whose costs change by prices."""
        priced = any(".price_per_hour" in setting.path for setting in self.changed)
        differing = {each.user.stack: each.costs for each in self.impacts if each.costs[0] != each.costs[1]}
        return differing if priced else {}

    @property
    def unknown_cost(self) -> str:
        """Return why the cost by the other prices is unknown; empty if it is known."""
        unknown = self.repriced and self.price_change is None
        return f"no cost of {list_names(self.repriced)}" if unknown else ""

    @property
    def price_change(self) -> tuple[HourlyCost, HourlyCost] | None:
        """Return the sums of these costs; None without any, if one is unknown, or if there are several currencies."""
        sides = [[cost for cost in side if cost is not None] for side in zip(*self.repriced.values(), strict=True)]
        every = [cost for side in sides for cost in side]
        if not every or len(every) < 2 * len(self.repriced) or len({cost.currency for cost in every}) > 1:
            return None
        before, after = (sum((cost.amount for cost in side), Decimal(0)) for side in sides)
        currency, oldest = every[0].currency, min(cost.as_of for cost in every)
        return HourlyCost(before, currency, oldest), HourlyCost(after, currency, oldest)


@functools.lru_cache(maxsize=16)  # several parts of the report ask for it, and each experiment is rendered anew
def all_settings(context: Context) -> tuple[Settings, ...]:
    """Return the settings of each environment of the preview that is recorded on both sides."""
    platforms = (step for step in context.preview.steps if step.type == PLATFORM)
    sides = ((recorded(step.old), recorded(step.new)) for step in platforms)
    return tuple(Settings(context, old, new) for old, new in sides if old is not None and new is not None)


def not_compared(context: Context) -> Iterator[str]:
    """Yield a sentence for each environment whose settings, or whose costs by other prices, cannot be compared."""
    for step in context.preview.steps:
        if step.type != PLATFORM or step.old is None or step.new is None or not step.new.inputs:
            continue  # a preview without inputs is of an earlier trainform
        if recorded(step.old) is None or recorded(step.new) is None:
            yield NOT_RECORDED.format(step.name)
    unknown = (each.unknown_cost for each in all_settings(context) if each.unknown_cost)
    yield from (f"By the other prices there is {reason}." for reason in unknown)


def stacks_of_other_projects(context: Context) -> list[str]:
    """Return the stacks of other projects that are deployed in an environment whose settings differ."""
    live = None if context.live is None else context.live.deployed
    if live is None or not any(each.differences for each in all_settings(context)):
        return []
    return sorted(stack for stack in live if not stack.startswith(f"{_project(context)}/"))


def namespace_before(preview: Preview) -> str:
    """Return the namespace that the environment's own stack has recorded; empty if it has recorded none."""
    environments = (recorded(step.old) for step in preview.steps if step.type == PLATFORM)
    return next((each.namespace.name for each in environments if each is not None), "")


def _is_object(difference: Difference, environment: Settings) -> bool:
    section, *name = difference.keys
    if section == "namespace":
        return environment.before.namespace.create and environment.after.namespace.create
    if section != "queues" or not name:
        return section in WITH_OBJECTS
    queues = (each.queues.get(str(name[0])) for each in (environment.before, environment.after))
    return any(queue is not None and queue.create for queue in queues)


def _setting(difference: Difference, environment: Settings) -> Setting:
    way = next((way for prefix, way in JUDGED.items() if difference.path.startswith(prefix)), None)
    if way is None:
        return Setting(difference.path, difference.before, difference.after)
    if difference.path == REQUIRED:  # where it is not set, it follows from the gates
        values = [needs_release(each.promotion) for each in (environment.before, environment.after)]
    else:
        values = [difference.before, difference.after]
    was, will = (_room(difference.path, value, *way) for value in values)
    looser, tighter = _allows_more(was, will), _allows_more(will, was)
    return Setting(difference.path, difference.before, difference.after, looser, tighter)


def _room(path: str, value: object, unset: Room, empty: Room, sign: int) -> Room:
    if isinstance(value, dict):  # an amount of money
        value = value.get("amount")
    if path.startswith(SEVERITY) and value is None:
        rule = BY_CODE.get(path.removeprefix(SEVERITY))
        value = "error" if rule is None else rule.severity
    if isinstance(value, list):
        return frozenset(map(str, value)) if value else empty
    if value is None:
        return unset
    if isinstance(value, bool | int | float):
        return sign * value
    text = str(value)
    try:
        return RANKS[text] if text in RANKS else sign * seconds(text)
    except ValueError:
        return frozenset({text})


def _allows_more(was: Room, will: Room) -> bool:
    """Return True if the second allows something that the first does not."""
    if was is None or will is None:
        return was is not will and will is None
    if isinstance(was, frozenset) or isinstance(will, frozenset):
        return not (isinstance(was, frozenset) and isinstance(will, frozenset) and will <= was)
    return will > was


# --- the experiments


def _impacts(settings: Settings) -> Iterator[Impact]:
    context, before = settings.context, settings.before
    gates = {setting.gate for setting in settings.changed if setting.tighter} - {""}
    if gates and ("required" in gates or not required_gates(before.promotion)):
        gates.add("")  # no gate at all: there is no release, or it is that of another stack
    for user in deployed_users(context):
        if user.job is None or user.job.environment.name != settings.after.name:
            continue
        now = user.job
        then = render_job(now.experiment, before, now.plan.run, today=context.today)
        known = {_identity(problem) for problem in then.problems}
        problems = [problem for problem in now.problems if _identity(problem) not in known]
        fails = {problem.code or problem.path: problem.reason for problem in reversed(problems)}
        fails |= {lack.gate or "promotion": lack.text for lack in user.lacks if lack.gate in gates}
        costs = then.plan.totals.cost_per_hour, now.plan.totals.cost_per_hour
        restarts = not (then.problems or now.problems) and then.plan.job != now.plan.job
        yield Impact(user, fails, costs, restarts)


def deployed_users(context: Context) -> list[User]:
    """Return the experiments of the project; if the cluster was read, the deployed ones."""
    live = None if context.live is None else context.live.deployed
    users = () if context.users is None else context.users
    return [user for user in users if live is None or f"{_project(context)}/{user.stack}" in live]


def _identity(problem: Problem) -> tuple[str, str]:
    return problem.path, problem.code or problem.reason


def _project(context: Context) -> str:
    return next((step.urn.split("::")[1] for step in context.preview.steps), "")
