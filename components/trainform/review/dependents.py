"""Which experiments of the project hang on what changes in their environment's own stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainform.errors import list_names
from trainform.review import steps
from trainform.review.context import Context, Use, User
from trainform.review.effects import WORDS
from trainform.review.model import Dependents, NotChecked
from trainform.review.preview import Step
from trainform.review.settings import all_settings, not_compared, of_other_projects
from trainform.review.shares import Shares, above, shares_of

KINDS = (steps.NAMESPACE, steps.QUEUE, steps.PRIORITY_CLASS, steps.CLAIM)
"""Kinds of the environment's objects that experiments use."""
ENVIRONMENT = "Environment"
OTHERS = "Stacks of other projects are deployed here too, whose files are not in this project: {}."
NOT_READ = "It is not known whether the experiment of the stack {} uses what changes, since it cannot be read: {}."


def dependents(context: Context) -> list[Dependents]:
    """Each object of the environment that changes, is replaced or goes, with the experiments that use it; nothing for
    the stack of an experiment."""
    users = context.users
    if users is None:
        return []
    used = _used(users, shares_of(context))
    return [
        Dependents(kind=kind, object=name, stacks=stacks, sentence=_sentence(kind, name, stacks))
        for kind, name in _changing(context)
        for stacks in [
            {user.stack: user.experiment for user in users if _is_there(kind, user) or (kind, name) in used[user.stack]}
        ]
    ] + [*_with_other_objects(context)]


def _with_other_objects(context: Context) -> Iterator[Dependents]:
    """Each environment whose settings differ, with the experiments whose objects they change."""
    for settings in all_settings(context):
        users = [impact.user for impact in settings.impacts if impact.restarts]
        if users:
            name, stacks = settings.after.name, {user.stack: user.experiment for user in users}
            sentence = f"Environment {name}: the next `pulumi up` of {list_names(stacks)} changes objects."
            yield Dependents(kind=ENVIRONMENT, object=name, stacks=stacks, sentence=sentence)


def not_read(context: Context) -> Iterator[NotChecked]:
    """The experiments of which it is unknown whether they use what changes, and settings that are not compared."""
    changing = [*_changing(context)]
    for user in () if context.users is None else context.users:
        if user.unread and not all(_is_there(kind, user) for kind, _ in changing):
            yield NotChecked(what="experiments", reason=NOT_READ.format(user.stack, user.unread))
    yield from (NotChecked(what="environment", reason=reason) for reason in not_compared(context))
    others = of_other_projects(context)
    if others:
        yield NotChecked(what="experiments", reason=OTHERS.format(list_names(others)))


def _is_there(kind: str, user: User) -> bool:
    """Whether it is an object that every experiment of the environment uses, whatever it says."""
    return kind == steps.NAMESPACE and bool(user.experiment)


def _used(users: tuple[User, ...], shares: Shares) -> dict[str, set[Use]]:
    """What each stack uses, with the queues above its queue: they share out what it gets."""
    return {
        user.stack: {
            *user.uses,
            *((kind, name) for kind, queue in user.uses if kind == steps.QUEUE for name in above(queue, shares)),
        }
        for user in users
    }


def _changing(context: Context) -> Iterator[Use]:
    """The objects that change, by their names of before."""
    for kind in KINDS:
        for step in steps.of_kind(steps.others(context), kind):
            if _changes(step):
                yield kind, steps.name_before(step)


def _changes(step: Step) -> bool:
    """What is made anew changes nothing for those who are there; that a claim is no longer kept does."""
    kept = steps.no_longer_kept(step) or steps.no_longer_protected(step)
    return kept or steps.fate(step) not in ("none", "create")


def _sentence(kind: str, name: str, stacks: Mapping[str, str]) -> str:
    """`Queue research: resnet (resnet.dev), mnist (mnist.dev) use it.`"""
    what = f"{WORDS[kind][0].upper()}{WORDS[kind][1:]} {name}"
    if not stacks:
        return f"{what}: no experiment of the project uses it."
    named = list_names([f"{experiment} ({stack})" for stack, experiment in stacks.items()])
    return f"{what}: {named} {'uses' if len(stacks) == 1 else 'use'} it."
