"""A rollback before anything is written: what it restores, and what that changes."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trainform.cluster.live_drift import utc_now
from trainform.deployed.earlier import earlier_deployments
from trainform.deployed.engine import exported
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import author, read_release, releases_of
from trainform.deployed.releases.rollback import (
    Checkpoint,
    Past,
    RestoredExperiment,
    checkpoints,
    restored_deployment,
    rollback,
)
from trainform.deployed.stacks import ProjectStack, followed, load_project_stack
from trainform.deployed.state import record_in, unfinished
from trainform.deployed.updates import ALL, Update, updates
from trainform.errors import InputError, Problem, TrainformError, list_names
from trainform.job.check import check_experiment
from trainform.plan.images import without_digest
from trainform.plan.inputs import resolved
from trainform.spec.release import ReleasedExperiment
from trainform.spec.stack import load_stack
from trainform.stacks.comparison.compare import Comparison, compare, version_in_file

TO = "--to"
NO_HISTORY = "Pulumi's history could not be read: {reason}; whether the release was ever deployed is unknown."
KILLED = (
    "The last `pulumi up` was killed, so Pulumi's state lacks what it was doing at that moment. Without `pulumi "
    "refresh` the next `up` may leave the job without its launch script, and the record of the killed revision."
)
NOT_DEPLOYED = "Pulumi's history does not say that this release was ever deployed."
TAG_NOTE = "{paths} had no digest: what the tag means now may not be what ran then."


class PreparedRollback(Struct, frozen=True):
    """A checked rollback. comparison: of the files now and then; None if they are wrong now. killed: the last `pulumi
    up` was killed, so the state must be refreshed. checkpoints: claims from which the experiment resumes."""

    stack: ProjectStack
    restored: RestoredExperiment
    release: Release
    comparison: Comparison | None
    notes: tuple[str, ...]
    killed: bool = False
    checkpoints: tuple[Checkpoint, ...] = ()


def prepare_rollback(name: str, to: str | None, reason: str, root: Path) -> PreparedRollback:
    """Find what the stack had before, and check it in the stack's environment. to: a release, or a revision; None: what
    was there before. InputError with every problem that it has there now, or if there is nothing earlier."""
    stack = load_project_stack(name, root)
    if not stack.experiment:
        load_stack(name, root)  # which says that it runs no experiment
    current = stack.stack.release
    if current is not None:
        read_release(stack.experiment, current, root)  # which says what is wrong with it
    notes = list[str]()
    done = _updates(stack, root, notes)
    state = exported(stack.name, root) if done else {}
    killed = bool(done) and unfinished(state, stack.experiment, done or ())
    notes += [KILLED] if killed else []
    deployed = None if done is None else {update.release for update in done if update.deployed}
    past = Past(releases_of(stack.experiment, root), current, deployed)
    last = next((update for update in done or () if update.kind == "update"), None)
    failed = killed or (last is not None and last.result == "failed")
    restored = _restored(stack, past, to, root, failed=failed)
    if restored.release is not None and not past.was_deployed(restored.release):
        notes.append(NOT_DEPLOYED)
    release = rollback(restored, current, stack.name, reason, author(root), utc_now())
    given = ReleasedExperiment(stack.experiment, release.name, release.experiment)
    job = check_experiment(given, stack.stack.environment, stack.stack.run, root).or_raise()
    tags = without_digest(release.experiment)
    if tags:
        notes.append(TAG_NOTE.format(paths=list_names(tags)))
    comparison = _comparison(stack, given, root, notes)
    writer, resumed = record_in(state, stack.experiment), list[Checkpoint]()
    if writer is not None:
        resumed = checkpoints(resolved(job.experiment), writer.experiment, f"revision {writer.revision}")
    elif done is None and current is not None:
        resumed = checkpoints(resolved(job.experiment), past.releases[current].experiment, f"release {current}")
    return PreparedRollback(stack, restored, release, comparison, tuple(notes), killed, tuple(resumed))


def _comparison(stack: ProjectStack, given: ReleasedExperiment, root: Path, notes: list[str]) -> Comparison | None:
    """Compare what the stack's files name with what is restored; None if they have an error."""
    try:
        now, then = (
            version_in_file(name, each, root, stack.environment.name)
            for name, each in (("now", stack.stack.given), ("rolled back", given))
        )
    except InputError as error:
        what = followed(stack.stack.release)
        notes.append(f"The changes are unknown: {what} has an error: {error.problems[0].reason}.")
        return None
    return compare(now, then)


def _updates(stack: ProjectStack, root: Path, notes: list[str]) -> list[Update] | None:
    """Return the stack's history; None if it cannot be read."""
    try:
        return updates(stack.name, root, ALL)
    except TrainformError as error:
        notes.append(NO_HISTORY.format(reason=error.message))
        return None


def _restored(stack: ProjectStack, past: Past, to: str | None, root: Path, *, failed: bool) -> RestoredExperiment:
    """Return what is named, or else the last thing that was deployed before, as a release or without one."""
    if to is not None and to in past.releases:
        _refuse(stack, past, to)
        return past.restored(to)
    name = next(filter(past.was_deployed, past.earlier()), None) if to is None else None
    if name is not None:
        return past.restored(name)
    earlier = earlier_deployments(stack.experiment, stack.name, root)
    named = (each for each in earlier if each.record.revision == to)
    chosen = past.before(earlier, failed=failed) if to is None else named
    found = next(chosen, None)
    if found is None:
        raise InputError([_nothing(stack, past) if to is None else _unknown(stack, past, to)])
    if found.update.release in past.releases:
        return past.restored(found.update.release)
    return restored_deployment(found, stack.full_name, stack.environment.name)


def _refuse(stack: ProjectStack, past: Past, to: str) -> None:
    """Raise `InputError` for a release that the stack has never followed (a promotion), or whose content it has."""
    name, known = past.restored_by(to), {*past.followed(past.current)}  # also under an earlier name of the stack
    if past.releases[to].promoted.target != stack.name and known.isdisjoint({to, name}):
        fix = (
            f"`trainform promote {stack.experiment} --from {past.releases[to].masked.promoted.target} --to "
            f"{stack.name}`, or name one of {list_names(past.earlier())}"
        )
        raise InputError([Problem(TO, to, f"the stack {stack.name} never followed this release", fix)])
    if past.current is not None and past.releases[past.current].content == past.releases[name].content:
        raise InputError([Problem(TO, to, f"the stack {stack.name} follows this content already", "name another one")])


def _unknown(stack: ProjectStack, past: Past, to: str) -> Problem:
    known = list_names(past.earlier())
    fix = f"known: {known}" if known else f"`trainform history {stack.experiment}` shows what was deployed"
    return Problem(TO, to, f"no release of {stack.experiment} and no earlier revision has this name", fix)


def _nothing(stack: ProjectStack, past: Past) -> Problem:
    names = past.earlier()
    passed = f"; {list_names(names)} were never deployed" if names else ""
    reason = f"no earlier deployment of the stack {stack.name} is known{passed}"
    other = "take the experiment's file from git and run `pulumi up`"
    if past.current is not None:
        other = f"`pulumi config rm trainform:release -s {stack.name}`, and the stack follows the file again"
    return Problem("STACK", stack.name, reason, f"name what to restore with {TO}, or {other}")
