"""`trainform events`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, StackEnvironmentOption, StackJobArgument, show
from trainform.cli.jobs import target_of
from trainform.project import require_project

if TYPE_CHECKING:
    from trainform.console.sections import Section
    from trainform.running.events import Entry, Timeline


@prints(*REPORT)
def command(word: StackJobArgument, environment: StackEnvironmentOption = None, *, form: Form) -> None:
    """Show what happened to a job, its gang, queue, claims and pods.

    The oldest comes first, and times are in UTC. It reads events, the conditions of objects, the ends of containers,
    and the releases and updates of the stack. The API server keeps events for an hour. What happened several times, or
    to several pods of a role, is one line.

    Exit code: 0, or 1 if something could not be read.
    """
    from msgspec import to_builtins

    from trainform.running.events import timeline
    from trainform.running.read import read, read_around

    found = timeline(read_around(read(target_of(word, environment)), every=True), require_project())
    show(form, to_builtins(found), _sections(found))
    if found.not_read:
        raise typer.Exit(1)


def _sections(found: Timeline) -> list[Section]:
    from trainform.console.sections import Item, Section, bounded

    title = f"Events of {found.experiment} in {found.environment}"
    entries = (Item(_sentence(entry), level="warning" if entry.warning else "") for entry in found.entries)
    reasons = (Item(f"{name}: {reason}") for name, reason in found.not_read.items())
    return bounded([Section(title, tuple(entries)), Section("Not read", tuple(reasons))])


def _sentence(entry: Entry) -> str:
    times = [f"{entry.count} times"] if entry.count > 1 else []
    times += [f"until {entry.until[:19]}Z"] if entry.until else []
    by, again = f" by {entry.by}" if entry.by else "", f" ({', '.join(times)})" if times else ""
    return f"{entry.at[:19]}Z {entry.object}: {entry.what}{by}{again}{': ' if entry.text else ''}{entry.text}"
