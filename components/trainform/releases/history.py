"""How an experiment came to its stacks: from the releases, the stacks' files, the live records and Pulumi's history of
updates."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from trainform.check_files import check_environment
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import refuse_another
from trainform.deployed.engine import exported_if_there
from trainform.deployed.records import deployed
from trainform.deployed.state import unfinished
from trainform.deployed.updates import Update, last_deployed, updates
from trainform.errors import InputError, TrainformError
from trainform.plan.record import Record
from trainform.releases.model import Release
from trainform.spec.environment import Environment

AT_ONCE = 4
What = Literal["promotion", "rollback", "up", "destroy"]
KINDS: Mapping[str, What] = {"update": "up", "destroy": "destroy"}
"""Updates of Pulumi that are told. What compares or renames deploys nothing."""
UNFINISHED = "an up runs or was killed"


class StackNow(Struct, frozen=True):
    """A stack of the experiment. release: that its config names; None: it follows the experiment's file. record: of
    what is deployed; None if nothing is, or if it could not be read. updates: the newest first. unfinished: something
    has changed the stack that they do not know. not_read: what could not be read, and why."""

    stack: str
    environment: str
    release: str | None
    record: Record | None = None
    updates: tuple[Update, ...] = ()
    unfinished: bool = False
    not_read: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Whether what the stack's config names is deployed, in words."""
        told = [update for update in self.updates if update.kind in KINDS]
        if self.unfinished or (told and told[0].result == "in-progress"):
            return UNFINISHED
        last = last_deployed(told)
        if not self.updates:
            return "unknown" if self.not_read else "not deployed"
        if last is None:
            return "not deployed"
        if told[0].result == "failed":
            return f"the last {KINDS[told[0].kind]} failed"
        if told[0].in_part:
            return f"the last {KINDS[told[0].kind]} was for a part of the stack"
        if last.release != ("" if self.release is None else self.release):
            return f"not applied yet: {last.release if last.release else 'the file'} is deployed"
        return "deployed"


class Event(Struct, frozen=True):
    """Something that happened to a stack. at: in UTC (RFC 3339). release: "" where the stack followed the experiment's
    file. result: of an update. by: "" where nobody has recorded it. details: what else is known, in words."""

    at: str
    stack: str
    what: What
    release: str
    result: str = ""
    by: str = ""
    details: tuple[str, ...] = ()


def read_stacks(
    stacks: Mapping[str, tuple[str, str | None]], experiment: str, root: Path, seconds: float
) -> list[StackNow]:
    """The stacks with what is deployed and what was. stacks: the environment and the release that each names. What
    cannot be read is told, and the rest is there."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        works = [
            threads.submit(_read, StackNow(stack, environment, release), experiment, root, seconds)
            for stack, (environment, release) in stacks.items()
        ]
        return [work.result() for work in works]


def _read(now: StackNow, experiment: str, root: Path, seconds: float) -> StackNow:
    not_read = list[str]()

    @contextlib.contextmanager
    def telling(what: str) -> Iterator[None]:
        try:
            yield
        except TrainformError as error:
            not_read.append(f"{what} of {now.stack}: {_reason(error)}")

    with telling("the history"):
        done = updates(now.stack, root)
        # after the history, so that an update which ends in between is in neither
        half_way = unfinished(exported_if_there(now.stack, root), experiment, done)
        now = structs.replace(now, updates=tuple(done), unfinished=half_way)
    with telling("what is deployed"):
        environment = check_environment(now.environment, root).checked()
        now = structs.replace(now, environment=environment.name)
        now = structs.replace(now, record=_record(experiment, environment, seconds))
    return structs.replace(now, not_read=tuple(not_read))


def _reason(error: TrainformError) -> str:
    """The first thing that is wrong, for one line."""
    if isinstance(error, InputError) and error.problems:
        return error.problems[0].reason
    return " | ".join([error.message, *error.details])


def _record(experiment: str, environment: Environment, seconds: float) -> Record | None:
    with contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api:
        refuse_another(api, environment)
        found = deployed(api, experiment, environment.namespace.name)
    if found is not None and found.unreadable is not None:
        raise found.unreadable
    return None if found is None else found.record


def events(releases: Mapping[str, Release], stacks: Sequence[StackNow]) -> list[Event]:
    """Everything that is known, the newest first."""
    found = [_of_release(name, release) for name, release in releases.items()]
    found += [_of_update(now.stack, update) for now in stacks for update in now.updates if update.kind in KINDS]
    return sorted(found, key=lambda event: (event.at, event.what == "up"), reverse=True)


def _of_release(name: str, release: Release) -> Event:
    told = release.told
    promoted, back = told.promoted, told.rollback
    tell: Callable[[Release], Iterator[str]] = _promotion if back is None else _rollback
    what: What = "promotion" if back is None else "rollback"
    return Event(promoted.at, promoted.target, what, name, by=promoted.by, details=tuple(tell(told)))


def _promotion(release: Release) -> Iterator[str]:
    promoted, origin = release.promoted, release.origin
    yield f"from {promoted.source}, revision {origin.revision}"
    if origin.commit is not None:
        yield commit_text(origin.commit, origin.dirty)
    if promoted.gates:
        yield f"gates: {', '.join(f'{gate} {result}' for gate, result in promoted.gates.items())}"
    yield from (f"{waived.by} waived {waived.gate}: {waived.reason}" for waived in promoted.waived)


def _rollback(release: Release) -> Iterator[str]:
    if release.rollback is not None:
        yield release.way
        yield f"reason: {release.rollback.reason}"


def _of_update(stack: str, update: Update) -> Event:
    details = [commit_text(update.commit, update.dirty)] if update.commit else []
    details += ["for a part of the stack"] if update.in_part else []
    at = update.ended if update.ended else update.started
    return Event(at, stack, KINDS[update.kind], update.release, update.result, details=tuple(details))


def commit_text(commit: str, dirty: bool | None) -> str:
    """The commit of git, and whether it was all of the files."""
    return f"commit {commit[:12]}{', with changes that are in no commit' if dirty else ''}"
