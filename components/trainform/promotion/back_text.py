"""A rollback in sentences and tables, the same for every form that people read, and as data."""

from __future__ import annotations

from typing import Any

from trainform.comparison.text import sections as compared
from trainform.project import release_path
from trainform.promotion.back import PreparedRollback
from trainform.promotion.text import origin_items
from trainform.review.forms.document import Item, Section, bounded


def headline(found: PreparedRollback) -> str:
    """What becomes of it, in one sentence."""
    reused = ", which an earlier rollback has written and no stack names" if found.is_begun else ""
    return f"{found.back.name} goes back to {restored_text(found)}, as release {found.release.name}{reused}."


def restored_text(found: PreparedRollback) -> str:
    """What is restored, as the end of a sentence."""
    if found.restored.release is not None:
        return f"release {found.restored.release}"
    return f"revision {found.restored.origin.revision}, which had no release"


def sections(found: PreparedRollback) -> list[Section]:
    """The report, the first section with the title."""
    return bounded([
        Section(f"Rollback of {found.back.name}", (Item(headline(found)),)),
        Section("Where it comes from", tuple(origin_items(found.release.origin))),
        *([] if found.comparison is None else compared(found.comparison)[1:]),
        Section("Notes", tuple(map(Item, found.notes))),
    ])  # fmt: skip


def as_data(found: PreparedRollback, *, written: bool) -> dict[str, Any]:
    """The same for machines."""
    release, comparison = found.release, found.comparison
    rows = () if comparison is None else comparison.experiment
    return {
        "ok": True,
        "result": "written" if written else "not written",
        "stack": found.back.name,
        "experiment": found.back.experiment,
        "release": release.name,
        "content": release.content,
        "path": release_path(found.back.experiment, release.name),
        "reused": found.is_begun,
        "rollback": None if release.rollback is None else release.rollback.model_dump(),
        "origin": release.origin.model_dump(),
        "promoted": release.promoted.model_dump(by_alias=True),
        "changes": [{"path": row.path, "values": [*row.values]} for row in rows],
        "notes": [*found.notes],
    }
