"""A rollback in sentences and tables, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from trainform.console.sections import Item, Section, bounded
from trainform.project import release_path
from trainform.stacks.comparison.text import changes, changing
from trainform.stacks.promotion.prepare_rollback import PreparedRollback
from trainform.stacks.promotion.promotion_text import origin_items


def sections(found: PreparedRollback) -> list[Section]:
    """Return the report, the first section with the title."""
    name, comparison, restored = found.stack.name, found.comparison, found.restored
    to = f"revision {restored.origin.revision}, which had no release"
    if restored.release is not None:
        to = f"release {restored.release}"
    return bounded([
        Section(f"Rollback of {name}", (Item(f"{name} goes back to {to}, by a new release."),
                *([] if comparison is None else [Item(changes(comparison, name))]))),
        *([] if comparison is None else changing(comparison, name)),
        Section("Checkpoints", tuple(_checkpoints(found))),
        Section("Where it comes from", tuple(origin_items(found.release.masked.origin))),
        Section("Notes", tuple(map(Item, found.notes))),
    ])  # fmt: skip


def _checkpoints(found: PreparedRollback) -> Iterator[Item]:
    for each in found.checkpoints:
        yield Item(
            f"The job resumes from what {each.written_by} has written to the claim {each.claim} "
            f"({'kept by `pulumi destroy`' if each.keep else 'not kept by `pulumi destroy`'}) at {each.mount}."
        )
    if found.checkpoints:
        yield Item("To resume from older checkpoints, move the newer ones away before `pulumi up`.")


def as_data(found: PreparedRollback, *, written: bool) -> dict[str, Any]:
    """Return the report for programs."""
    release, comparison = found.release, found.comparison
    name = release.name if written else None  # the time of writing is in it
    rows = () if comparison is None else comparison.experiment
    return {
        **release.evidence,
        "ok": True,
        "result": "written" if written else "not written",
        "stack": found.stack.name,
        "experiment": found.stack.experiment,
        "release": name,
        "path": None if name is None else release_path(found.stack.experiment, name),
        "changes": to_builtins(rows),
        "checkpoints": to_builtins(found.checkpoints),
        "notes": [*found.notes],
    }
