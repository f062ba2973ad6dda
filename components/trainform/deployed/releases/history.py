"""The history of experiments: from releases, the stacks' files, and Pulumi's states and histories of updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from trainform.deployed.engine import NO_STACK, exported
from trainform.deployed.releases.release import Release
from trainform.deployed.stacks import ProjectStack, has_file, is_pending
from trainform.deployed.state import record_in, unfinished
from trainform.deployed.updates import Update, last_deployed, updates
from trainform.errors import InputError, TrainformError
from trainform.plan.record import Record
from trainform.spec.release import digest

AT_ONCE = 4
EventKind = Literal["promotion", "rollback", "up", "destroy"]
KINDS: Mapping[str, EventKind] = {"update": "up", "destroy": "destroy"}
"""The updates of Pulumi that make or delete objects."""
UNFINISHED = "an up runs or was killed"


class StackNow(Struct, frozen=True):
    """A stack with what is deployed and what was, by Pulumi.

    record: None if nothing is deployed, or if it could not be read. updates: the newest first. unfinished: the state
    has changes that they do not have. pending: the stack's file names another experiment than the deployed one; None if
    unknown. not_read: why something could not be read.
    """

    place: ProjectStack
    record: Record | None = None
    updates: tuple[Update, ...] = ()
    unfinished: bool = False
    pending: bool | None = None
    not_read: str = ""

    @property
    def state(self) -> str:
        """Return in words whether the experiment that the stack names is deployed."""
        done = [update for update in self.updates if update.kind in KINDS]
        if self.unfinished or (done and done[0].result == "in-progress"):
            return UNFINISHED
        if last_deployed(done) is None:
            return "unknown" if self.not_read and not done else "not deployed"
        if done[0].result == "failed":
            return f"the last {KINDS[done[0].kind]} failed"
        if done[0].in_part:
            return f"the last {KINDS[done[0].kind]} was for a part of the stack"
        return {None: "unknown", True: "pending", False: "deployed"}[self.pending]


class Event(Struct, frozen=True):
    """Something that happened to a stack.

    at: in UTC (RFC 3339). release: "" where the stack followed the experiment's file. result: of an update. by: "" if
    unknown. details: more in words.
    """

    at: str
    experiment: str
    stack: str
    what: EventKind
    release: str
    result: str = ""
    by: str = ""
    details: tuple[str, ...] = ()


def read_stacks(stacks: Sequence[ProjectStack], root: Path) -> list[StackNow]:
    """Read what is deployed in the stacks, and what was. What cannot be read is in `not_read`."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [*threads.map(lambda place: _read(place, root), stacks)]


def _read(place: ProjectStack, root: Path) -> StackNow:
    now = StackNow(place)
    try:
        done = updates(place.name, root)
        # after the history, so that an update which ends in between is in neither
        state = exported(place.name, root, nothing=NO_STACK)
        record, half_way = record_in(state, place.experiment), unfinished(state, place.experiment, done)
        now = StackNow(place, record, tuple(done), half_way)
        if record is None or not has_file(place, root):
            return now
        return structs.replace(now, pending=is_pending(place, digest(record.experiment), root))
    except TrainformError as error:
        first = error.problems[:1] if isinstance(error, InputError) else ()
        reason = " | ".join([problem.reason for problem in first] or [error.message, *error.details])
        return structs.replace(now, not_read=f"{place.name}: {reason}")


def events(releases: Iterable[Release], stacks: Sequence[StackNow]) -> list[Event]:
    """Return every known event, the newest first."""
    found = [_release_event(release) for release in releases]
    found += [_update_event(now.place, update) for now in stacks for update in now.updates if update.kind in KINDS]
    return sorted(found, key=lambda event: (event.at, event.what == "up"), reverse=True)


def _release_event(release: Release) -> Event:
    shown = release.masked
    promoted, back = shown.promoted, shown.rollback
    details = _promotion(shown) if back is None else (shown.way, f"reason: {back.reason}")
    what: EventKind = "promotion" if back is None else "rollback"
    experiment = str(release.experiment["name"])
    return Event(promoted.at, experiment, promoted.target, what, release.name, by=promoted.by, details=tuple(details))


def _promotion(release: Release) -> Iterator[str]:
    promoted, origin = release.promoted, release.origin
    yield f"from {promoted.source}, revision {origin.revision}"
    if origin.commit is not None:
        yield commit_text(origin.commit, origin.dirty)
    if promoted.gates:
        yield f"gates: {', '.join(f'{gate} {result}' for gate, result in promoted.gates.items())}"
    yield from (f"{waived.by} waived {waived.gate}: {waived.reason}" for waived in promoted.waived)


def _update_event(place: ProjectStack, update: Update) -> Event:
    details = [commit_text(update.commit, update.dirty)] if update.commit else []
    details += ["for a part of the stack"] if update.in_part else []
    what, at = KINDS[update.kind], update.ended or update.started
    return Event(at, place.experiment, place.name, what, update.release, update.result, details=tuple(details))


def commit_text(commit: str, dirty: bool | None) -> str:
    """Return the commit of git, and whether other changes were there."""
    return f"commit {commit[:12]}{', with changes that are in no commit' if dirty else ''}"
