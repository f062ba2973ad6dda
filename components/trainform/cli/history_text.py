"""The history of an experiment in sentences, the same for every form that people read: the forms are those of a
review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from trainform.releases.history import Event, StackNow
from trainform.releases.model import Release
from trainform.review.forms.sections import Item, Row, Section, Table, bounded

COLUMNS = ("stack", "environment", "follows", "state", "deployed")
THE_FILE = "the file"


class History(Struct, frozen=True):
    """What is known of an experiment. most: events that are shown to people, the newest first. unread: why files of its
    stacks cannot be read. ignored: its files that git ignores."""

    experiment: str
    releases: Mapping[str, Release]
    stacks: Sequence[StackNow]
    events: Sequence[Event]
    most: int
    unread: Sequence[str] = ()
    ignored: Sequence[str] = ()

    def called(self, release: str | None) -> str:
        """A release as it is told, or the file."""
        if not release:
            return THE_FILE
        known = self.releases.get(release)
        return f"release {release}" if known is None else known.called

    @property
    def notes(self) -> list[str]:
        """What the commits do not show."""
        return [f"git ignores {path}: a commit does not show how it was at an `up`." for path in self.ignored]

    @property
    def not_read(self) -> list[str]:
        """What could not be read, and why."""
        return [*self.unread, *(reason for now in self.stacks for reason in now.not_read)]


def sections(history: History) -> list[Section]:
    """The history as sections, the first with the title."""
    shown = history.events[: history.most]
    more = len(history.events) - len(shown)
    older = (Item(f"And {more} before: --all shows them."),) if more > 0 else ()
    return bounded([
        Section(f"History of {history.experiment}", (Item(_headline(history)),)),
        Section("Its stacks", (Table((COLUMNS, *(_row(now, history) for now in history.stacks))),
                ) if history.stacks else ()),
        Section("What happened, the newest first", (*(_event(event, history) for event in shown), *older)),
        Section("Notes", tuple(map(Item, history.notes))),
        Section("Not read", tuple(Item(f"{reason}.") for reason in history.not_read)),
    ])  # fmt: skip


def _headline(history: History) -> str:
    stacks, releases = len(history.stacks), len(history.releases)
    return f"{stacks} stack{'' if stacks == 1 else 's'}, {releases} release{'' if releases == 1 else 's'}."


def _row(now: StackNow, history: History) -> tuple[str, ...]:
    deployed = "" if now.record is None else f"{now.record.revision}{_again(now.record.run)}"
    return now.stack, now.environment, history.called(now.release), now.state, deployed


def _again(run: int) -> str:
    return "" if run == 1 else f", run {run}"


def _event(event: Event, history: History) -> Item:
    sentence = _sentence(event, history.called(event.release))
    return Item(f"{event.at} {event.stack}: {sentence}", tuple(Row("", text) for text in event.details))


def _sentence(event: Event, called: str) -> str:
    by = f" by {event.by}" if event.by else ""
    if event.what == "promotion":
        return f"promoted{by}, {called}."
    if event.what == "rollback":
        return f"rolled back{by}, {called}."
    return f"`{event.what}`{f' of {called}' if event.what == 'up' else ''} {event.result}."


def as_data(history: History) -> dict[str, Any]:
    """The same for machines, with every event."""
    return {
        "ok": not history.not_read,
        "experiment": history.experiment,
        "stacks": [_stack_data(now) for now in history.stacks],
        "events": msgspec.to_builtins(history.events),
        "releases": {name: _release_data(release) for name, release in history.releases.items()},
        "notes": history.notes,
        "not_read": history.not_read,
    }


def _stack_data(now: StackNow) -> dict[str, Any]:
    record = now.record
    return {
        "stack": now.stack,
        "environment": now.environment,
        "release": now.release,
        "state": now.state,
        "revision": None if record is None else record.revision,
        "run": None if record is None else record.run,
    }


def _release_data(release: Release) -> dict[str, Any]:
    """Its evidence without the experiment, which is in its file."""
    evidence = {key: value for key, value in release.told.data().items() if key != "experiment"}
    return {**evidence, "content": release.content}
