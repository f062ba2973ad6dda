"""A comparison in sentences and tables, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from trainform.console.sections import Block, Item, Section, Table, bounded, counted, shown
from trainform.stacks.comparison.compare import Comparison, Row, Version


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison for programs."""
    return {
        "same": comparison.same,
        "versions": [{"name": version.name, **version.facts} for version in comparison.versions],
        "experiment": to_builtins(comparison.experiment),
        "environment": to_builtins(comparison.environment),
    }


def sections(comparison: Comparison) -> list[Section]:
    """Return the comparison as sections, the first with the title."""
    before, after = comparison.versions
    count = len(comparison.experiment)
    headline = f"{counted(count, 'field')} of the experiment {'differs' if count == 1 else 'differ'}."
    return bounded([
        Section(f"Comparison of {before.name} and {after.name}",
                (Item(headline if count else "Both are the same experiment."), *_facts(comparison.versions))),
        *differing(comparison, "What differs in the experiment", "What differs in what the environments give"),
    ])  # fmt: skip


def differing(comparison: Comparison, title: str, environment_title: str) -> list[Section]:
    """Return the tables of the fields that differ, under these titles."""
    names = [version.name for version in comparison.versions]
    return [
        Section(title, _table(comparison.experiment, names)),
        Section(environment_title, _table(comparison.environment, names)),
    ]


def changing(comparison: Comparison, stack: str) -> list[Section]:
    """Return the tables of the fields that change in the stack."""
    return differing(comparison, f"What changes in {stack}", f"What changes in {stack} by its environment")


def changes(comparison: Comparison, stack: str, *, would: bool = False) -> str:
    """Return the number of fields that change, or would change, as a sentence."""
    count = len(comparison.experiment) + len(comparison.environment)
    verb = "would change" if would else "change" if count > 1 else "changes"
    return f"{counted(count, 'field') if count else 'Nothing'} of {stack} {verb}."


def _facts(versions: Sequence[Version]) -> Iterator[Item]:
    for version in versions:
        facts = ", ".join(f"{name} {value}" for name, value in version.facts.items() if value)
        if facts:
            yield Item(f"{version.name}: {facts}.")


def _table(rows: Sequence[Row], names: Sequence[str]) -> tuple[Block, ...]:
    if not rows:
        return ()
    return (Table((("field", *names), *((row.path, *map(shown, row.values)) for row in rows))),)
