"""The history of experiments in sentences and tables, and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from trainform.console.sections import Item, Row, Section, Table, bounded, counted
from trainform.deployed.releases.history import Event, StackNow
from trainform.deployed.releases.release import Release
from trainform.deployed.stacks import followed

COLUMNS = ("stack", "environment", "follows", "state", "deployed")


class History(Struct, frozen=True):
    """The history of one experiment or all (None), in one stack or all (None). not_read: what could not be read, and
    why."""

    experiment: str | None
    stack: str | None
    releases: Mapping[str, Release]
    stacks: Sequence[StackNow]
    events: Sequence[Event]
    not_read: Sequence[str]


def sections(history: History, most: int) -> list[Section]:
    """Return the history as sections, the first with the title. most: number of events that are shown."""
    shown = history.events[:most]
    more = len(history.events) - len(shown)
    older = (Item(f"And {more} before: --all shows them."),) if more > 0 else ()
    count = f"{counted(len(history.stacks), 'stack')}, {counted(len(history.releases), 'release')}."
    table = Table((COLUMNS, *map(_row, history.stacks)))
    return bounded([
        Section(f"History of {history.stack or history.experiment or 'all experiments'}", (Item(count),)),
        Section("Stacks", (table,) if history.stacks else ()),
        Section("Events, the newest first", (*map(_event, shown), *older)),
        Section("Not read", tuple(Item(f"{reason}.") for reason in history.not_read)),
    ])  # fmt: skip


def _row(now: StackNow) -> tuple[str, ...]:
    record, place = now.record, now.place
    again = "" if record is None or record.run == 1 else f", run {record.run}"
    deployed = "" if record is None else f"{record.revision}{again}"
    return place.name, place.environment.name, followed(place.stack.release), now.state, deployed


def _event(event: Event) -> Item:
    by, release = f" by {event.by}" if event.by else "", followed(event.release or None)
    sentence = {
        "promotion": f"promoted{by}, {release}.",
        "rollback": f"rolled back{by}, {release}.",
        "up": f"`up` of {release} {event.result}.",
        "destroy": f"`destroy` {event.result}.",
    }[event.what]
    return Item(f"{event.at} {event.stack}: {sentence}", tuple(Row("", text) for text in event.details))


def as_data(history: History) -> dict[str, Any]:
    """Return the history for programs, with every event."""
    return {
        "ok": not history.not_read,
        "experiment": history.experiment,
        "stacks": [
            {
                "stack": now.place.name,
                "experiment": now.place.experiment,
                "environment": now.place.environment.name,
                "release": now.place.stack.release,
                "state": now.state,
                "revision": None if now.record is None else now.record.revision,
                "run": None if now.record is None else now.record.run,
            }
            for now in history.stacks
        ],
        "events": to_builtins(history.events),
        "releases": {name: release.evidence for name, release in history.releases.items()},
        "not_read": history.not_read,
    }
