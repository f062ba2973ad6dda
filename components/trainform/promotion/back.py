"""A rollback, prepared: what is restored is found and checked, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from trainform.check import check_experiment
from trainform.cluster.drift import utc_now
from trainform.comparison.compare import Comparison, Version, compare, of_file, of_record
from trainform.deployed.earlier import EarlierDeployment, earlier_deployments
from trainform.deployed.engine import exported
from trainform.deployed.stacks import ProjectStack, load_project_stack
from trainform.deployed.state import record_in, unfinished
from trainform.deployed.updates import ALL, Update, updates
from trainform.errors import InputError, Problem, TrainformError, list_names
from trainform.plan.images import without_digest
from trainform.plan.inputs import resolved
from trainform.releases.author import author
from trainform.releases.files import read_release, releases_of
from trainform.releases.model import Release
from trainform.releases.rollback import (
    Checkpoint,
    Restored,
    chain,
    checkpoints,
    earlier_deployments_of,
    earlier_releases,
    first_deployed,
    of_deployment,
    of_release,
    restored_by,
    rollback,
)
from trainform.spec.release import Released
from trainform.spec.stack import STACK_ARGUMENT, load_stack

TO = "--to"
NOW, AFTER = "now", "rolled back"
NO_HISTORY = "Pulumi's history could not be read, so nobody knows whether the release was ever deployed: {reason}"
KILLED = (
    "The last `pulumi up` was killed, so Pulumi's state lacks what it was doing at that moment. Without `pulumi "
    "refresh` the next `up` may leave the job without its launch script, and the record of the killed revision."
)
NOT_DEPLOYED = "Pulumi's history does not say that this release was ever deployed."
BY_TAG = "{paths} had no digest: what the tag means now may not be what ran then."


class Back(Struct, frozen=True):
    """A stack that is rolled back. releases: all of its experiment."""

    place: ProjectStack
    releases: Mapping[str, Release]
    root: Path


class PreparedRollback(Struct, frozen=True):
    """A rollback that is checked.

    release: what would be written. comparison: of the stack's files now and then; None if they are wrong now. killed:
    the state must be refreshed before the next `pulumi up`, since the last one was killed. checkpoints: the claims from
    which the restored experiment resumes.
    """

    back: Back
    restored: Restored
    release: Release
    comparison: Comparison | None
    notes: tuple[str, ...]
    killed: bool = False
    checkpoints: tuple[Checkpoint, ...] = ()


def prepare_rollback(stack: str, to: str | None, reason: str, root: Path) -> PreparedRollback:
    """Find what the stack had before, and check it in the stack's environment. to: a release, or a revision; None: what
    was there before. InputError with every problem that it has there now, or if there is nothing earlier."""
    back = _back(stack, root)
    notes = list[str]()
    done = _updates(back, notes)
    state = exported(back.place.name, root) if done else {}
    killed = False if not done else unfinished(state, back.place.experiment, done)
    notes += [KILLED] if killed else []
    restored = _restored(back, to, done, notes, killed=killed)
    release = rollback(restored, back.place.stack.release, back.place.name, reason, author(root), utc_now())
    given = Released(back.place.experiment, release.name, release.experiment)
    job = check_experiment(given, back.place.stack.environment, back.place.stack.run, root).checked()
    tags = without_digest(release.experiment)
    if tags:
        notes.append(BY_TAG.format(paths=list_names(tags)))
    will = (
        of_file(AFTER, given, root, back.place.environment.name)
        if job.plan.record is None
        else of_record(AFTER, job.plan.record)
    )
    comparison = _comparison(back, will, notes)
    writer = record_in(state, back.place.experiment)
    resumed = list[Checkpoint]()
    if writer is not None:
        resumed = checkpoints(resolved(job.experiment), writer.experiment, f"revision {writer.revision}")
    elif done is None and back.place.stack.release is not None:
        follows = back.place.stack.release
        resumed = checkpoints(resolved(job.experiment), back.releases[follows].experiment, f"release {follows}")
    return PreparedRollback(back, restored, release, comparison, tuple(notes), killed, tuple(resumed))


def _back(stack: str, root: Path) -> Back:
    place = load_project_stack(stack, root, STACK_ARGUMENT)
    if not place.experiment:
        load_stack(stack, root, STACK_ARGUMENT)  # which says that it runs no experiment
    if place.stack.release is not None:
        read_release(place.experiment, place.stack.release, root)  # which says what is wrong with it
    return Back(place, releases_of(place.experiment, root), root)


def _comparison(back: Back, will: Version, notes: list[str]) -> Comparison | None:
    said = "its file" if back.place.stack.release is None else f"release {back.place.stack.release}"
    try:
        is_now = of_file(NOW, back.place.stack.given, back.root, back.place.environment.name)
    except InputError as error:
        notes.append(f"What changes is not told, since {said} is wrong now: {error.problems[0].reason}.")
        return None
    return compare(is_now, will)


def _updates(back: Back, notes: list[str]) -> list[Update] | None:
    """Return the stack's history; None if it cannot be read."""
    try:
        return updates(back.place.name, back.root, ALL)
    except TrainformError as error:
        notes.append(NO_HISTORY.format(reason=error.message))
        return None


def _restored(back: Back, to: str | None, done: list[Update] | None, notes: list[str], *, killed: bool) -> Restored:
    if to is None:
        return _before(back, done, killed=killed)
    if to in back.releases:
        return _named(back, to, done, notes)
    for each in earlier_deployments(back.place.experiment, back.place.name, back.root):
        if each.record.revision == to:
            return _of(back, each)
    known = list_names(_choices(back))
    fix = f"known: {known}" if known else f"`trainform history {back.place.experiment}` shows what was deployed"
    raise InputError(
        [Problem(TO, to, f"no release of {back.place.experiment} and no earlier revision has this name", fix)]
    )


def _named(back: Back, to: str, done: list[Update] | None, notes: list[str]) -> Restored:
    """The release that is named, which the stack must have followed: everything else is a promotion, with its gates."""
    name = restored_by(to, back.releases)
    current = back.place.stack.release
    followed = {*chain(current, back.releases)}  # also under an earlier name of the stack
    if back.releases[to].promoted.target != back.place.name and followed.isdisjoint({to, name}):
        fix = (
            f"`trainform promote {back.place.experiment} --from {back.releases[to].told.promoted.target} --to "
            f"{back.place.name}`, or name one of {list_names(_choices(back))}"
        )
        raise InputError([Problem(TO, to, f"the stack {back.place.name} never followed this release", fix)])
    if current is not None and back.releases[current].content == back.releases[name].content:
        raise InputError(
            [Problem(TO, to, f"the stack {back.place.name} follows this content already", "name another one")]
        )
    if done is not None and first_deployed([name], back.releases, _deployed(done)) is None:
        notes.append(NOT_DEPLOYED)
    return of_release(name, back.releases)


def _before(back: Back, done: list[Update] | None, *, killed: bool) -> Restored:
    """What the stack had before: an earlier release that was deployed, or what was deployed before there were
    releases."""
    current = back.place.stack.release
    names = [] if current is None else earlier_releases(current, back.releases)
    found = next(iter(names), None) if done is None else first_deployed(names, back.releases, _deployed(done))
    if found is not None:
        return of_release(found, back.releases)
    for each in _deployments(back, done, killed=killed):
        return _of(back, each)
    passed = f"; {list_names(names)} were never deployed" if names else ""
    reason = f"nothing else was deployed in the stack {back.place.name} before, as far as it is known{passed}"
    other = "take the experiment's file from git and run `pulumi up`"
    if back.place.stack.release is not None:
        other = f"`pulumi config rm trainform:release -s {back.place.name}`, and the stack follows the file again"
    fix = f"name what to restore with {TO}, or {other}"
    raise InputError([Problem("STACK", back.place.name, reason, fix)])


def _deployments(back: Back, done: list[Update] | None, *, killed: bool) -> Iterator[EarlierDeployment]:
    name = back.place.stack.release
    current = None if name is None else back.releases[name]
    known = [] if done is None else done
    ups = [update for update in known if update.kind == "update"]
    failed = killed or (bool(ups) and ups[0].result == "failed")
    found = earlier_deployments(back.place.experiment, back.place.name, back.root)
    return earlier_deployments_of(found, current, {*chain(name, back.releases)}, failed=failed)


def _of(back: Back, each: EarlierDeployment) -> Restored:
    """The deployment, by its release if it has one that is still there."""
    name = each.update.release
    if name in back.releases:
        return of_release(restored_by(name, back.releases), back.releases)
    return of_deployment(each, back.place.full_name, back.place.environment.name)


def _deployed(done: list[Update]) -> set[str]:
    return {update.release for update in done if update.deployed}


def _choices(back: Back) -> list[str]:
    current = back.place.stack.release
    return [] if current is None else earlier_releases(current, back.releases)
