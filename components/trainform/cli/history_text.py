"""The history of experiments in sentences and tables, and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from trainform.releases.history import Event, StackNow
from trainform.releases.model import Release
from trainform.review.forms.sections import Item, Row, Section, Table, bounded, counted

COLUMNS = ("stack", "environment", "follows", "state", "deployed")
THE_FILE = "the file"


class History(Struct, frozen=True):
    """The history of one experiment, or of all (None).

    most: number of events that are shown to people. unread: why files cannot be read.
    """

    experiment: str | None
    releases: Mapping[str, Release]
    stacks: Sequence[StackNow]
    events: Sequence[Event]
    most: int
    unread: Sequence[str] = ()

    def label(self, release: str | None) -> str:
        """Return how a release is called, or the file."""
        if not release:
            return THE_FILE
        known = self.releases.get(release)
        return f"release {release}" if known is None else known.called

    @property
    def not_read(self) -> list[str]:
        """What could not be read, and why."""
        return [*self.unread, *(reason for now in self.stacks for reason in now.not_read)]


def sections(history: History) -> list[Section]:
    """Return the history as sections, the first with the title."""
    shown = history.events[: history.most]
    more = len(history.events) - len(shown)
    older = (Item(f"And {more} before: --all shows them."),) if more > 0 else ()
    count = f"{counted(len(history.stacks), 'stack')}, {counted(len(history.releases), 'release')}."
    table = Table((COLUMNS, *(_row(now, history) for now in history.stacks)))
    return bounded([
        Section(f"History of {history.experiment or 'all experiments'}", (Item(count),)),
        Section("Stacks", (table,) if history.stacks else ()),
        Section("Events, the newest first", (*(_event(event, history) for event in shown), *older)),
        Section("Not read", tuple(Item(f"{reason}.") for reason in history.not_read)),
    ])  # fmt: skip


def _row(now: StackNow, history: History) -> tuple[str, ...]:
    record, place = now.record, now.place
    again = "" if record is None or record.run == 1 else f", run {record.run}"
    deployed = "" if record is None else f"{record.revision}{again}"
    return place.name, place.environment.name, history.label(place.stack.release), now.state, deployed


def _event(event: Event, history: History) -> Item:
    sentence = _sentence(event, history.label(event.release))
    return Item(f"{event.at} {event.stack}: {sentence}", tuple(Row("", text) for text in event.details))


def _sentence(event: Event, label: str) -> str:
    by = f" by {event.by}" if event.by else ""
    if event.what == "promotion":
        return f"promoted{by}, {label}."
    if event.what == "rollback":
        return f"rolled back{by}, {label}."
    return f"`{event.what}`{f' of {label}' if event.what == 'up' else ''} {event.result}."


def as_data(history: History) -> dict[str, Any]:
    """Return the history for programs, with every event."""
    return {
        "ok": not history.not_read,
        "experiment": history.experiment,
        "stacks": [_stack_data(now) for now in history.stacks],
        "events": msgspec.to_builtins(history.events),
        "releases": {name: _release_data(release) for name, release in history.releases.items()},
        "not_read": history.not_read,
    }


def _stack_data(now: StackNow) -> dict[str, Any]:
    place, record = now.place, now.record
    return {
        "stack": place.name,
        "experiment": place.experiment,
        "environment": place.environment.name,
        "release": place.stack.release,
        "state": now.state,
        "revision": None if record is None else record.revision,
        "run": None if record is None else record.run,
    }


def _release_data(release: Release) -> dict[str, Any]:
    """Return the evidence of a release. The experiment is in its file."""
    evidence = {key: value for key, value in release.told.data().items() if key != "experiment"}
    return {**evidence, "content": release.content}
