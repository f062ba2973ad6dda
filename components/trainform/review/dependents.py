"""Experiments of the project that depend on changes in their environment's own stack."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.review import steps
from trainform.review.context import Context, Use, User
from trainform.review.effects import WORDS
from trainform.review.model import Dependents, NotChecked
from trainform.review.settings import all_settings, not_compared, stacks_of_other_projects
from trainform.review.shares import Shares, above, shares_of

KINDS = (steps.NAMESPACE, steps.QUEUE, steps.PRIORITY_CLASS, steps.CLAIM)
"""Kinds of the environment's objects that experiments use."""
ENVIRONMENT = "Environment"
OTHERS = "Stacks of other projects are deployed here too, whose files are not in this project: {}."
NOT_READ = "It is unknown whether the experiment of the stack {} uses what changes, since it cannot be read: {}."


def dependents(context: Context) -> list[Dependents]:
    """Return each object of the environment that changes, is replaced or deleted, with the experiments that use it, and
    each environment whose settings change objects of experiments; nothing for the stack of an experiment."""
    if context.users is None:
        return []
    changed, shares = [], shares_of(context)
    for kind, name in _changing(context):
        stacks = {user.stack: user.experiment for user in context.users if _uses(user, kind, name, shares)}
        named = list_names([f"{experiment} ({stack})" for stack, experiment in stacks.items()])
        used = f"{named} {'uses' if len(stacks) == 1 else 'use'}" if stacks else "no experiment of the project uses"
        sentence = f"{WORDS[kind][0].upper()}{WORDS[kind][1:]} {name}: {used} it."
        changed.append(Dependents(kind=kind, object=name, stacks=stacks, sentence=sentence))
    for settings in all_settings(context):
        users = [impact.user for impact in settings.impacts if impact.restarts]
        if users:
            name, stacks = settings.after.name, {user.stack: user.experiment for user in users}
            sentence = f"Environment {name}: the next `pulumi up` of {list_names(stacks)} changes objects."
            changed.append(Dependents(kind=ENVIRONMENT, object=name, stacks=stacks, sentence=sentence))
    return changed


def not_read(context: Context) -> Iterator[NotChecked]:
    """Yield experiments that may use what changes, since they cannot be read, and settings that are not compared."""
    kinds = [kind for kind, _ in _changing(context)]
    for user in () if context.users is None else context.users:
        if user.unread and not all(kind == steps.NAMESPACE and user.experiment for kind in kinds):
            yield NotChecked(what="experiments", reason=NOT_READ.format(user.stack, user.unread))
    yield from (NotChecked(what="environment", reason=reason) for reason in not_compared(context))
    others = stacks_of_other_projects(context)
    if others:
        yield NotChecked(what="experiments", reason=OTHERS.format(list_names(others)))


def _uses(user: User, kind: str, name: str, shares: Shares) -> bool:
    """Return True if the stack uses the object: every experiment its namespace, and the queues above its queue."""
    if kind == steps.NAMESPACE and user.experiment:
        return True
    return any(each == kind and name in (used, *above(used, shares)) for each, used in user.uses)


def _changing(context: Context) -> Iterator[Use]:
    """Yield the objects that change for existing experiments, by their names before the change."""
    for kind in KINDS:
        for step in steps.of_kind(steps.others(context), kind):
            kept = steps.no_longer_kept(step) or steps.no_longer_protected(step)
            if kept or steps.action(step) not in ("none", "create"):
                yield kind, steps.name_before(step)
