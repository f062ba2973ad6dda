"""Two versions of an experiment, deployed, released or in a file, and the fields in which they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.job.check import load_experiment
from trainform.manifests.differences import Difference, differences, shown
from trainform.manifests.manifest import without_empty
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.review.causes import of_experiment
from trainform.spec.experiment import OVERLAYS
from trainform.spec.load import Given


class Version(Struct, frozen=True):
    """An experiment at one place and time.

    facts: where it comes from, for people. overlays: what differs in environments, where no environment is chosen.
    """

    name: str
    record: Record
    facts: Mapping[str, str] = {}
    overlays: Mapping[str, Any] = {}


def deployed_version(name: str, record: Record) -> Version:
    """Return the version that is deployed."""
    version = "" if record.version is None else record.version
    facts = {"revision": record.revision, "run": str(record.run), "trainform": version}
    return Version(name, record, facts)


def version_in_file(
    name: str, given: Given, root: Path, environment: str = "", facts: Mapping[str, str] | None = None
) -> Version:
    """Return the version in a file or release, with its overlays if no environment is named. May raise InputError."""
    loaded = load_experiment(given, root, environment)
    model = loaded.or_raise()
    where = {"environment": environment} if environment else {}
    overlays = None if environment or loaded.data is None else loaded.data.get(OVERLAYS)
    record = Record("", "", 1, resolved(model), {})
    return Version(name, record, {**(facts or {}), **where}, overlays if isinstance(overlays, dict) else {})


class Row(Struct, frozen=True):
    """A field and its two values, without secrets. None: not set."""

    path: str
    values: tuple[Any, Any]


class Comparison(Struct, frozen=True):
    """The differences of two versions. experiment: the fields that differ, in the order of the second version.
    environment: the fields of the environments that differ, if both versions are deployed."""

    versions: tuple[Version, Version]
    experiment: tuple[Row, ...] = ()
    environment: tuple[Row, ...] = ()

    @property
    def same(self) -> bool:
        """Return True if the experiment is the same, even in different environments."""
        return not self.experiment


def compare(before: Version, after: Version) -> Comparison:
    """Compare two versions."""
    overlays = differences({OVERLAYS: before.overlays}, {OVERLAYS: after.overlays})
    given = before.record.environment, after.record.environment
    return Comparison(
        (before, after),
        _rows([*of_experiment(before.record, after.record), *overlays]),
        _rows(differences(*given)) if all(given) else (),
    )


def _rows(found: Iterable[Difference]) -> tuple[Row, ...]:
    return tuple(Row(each.path, (_plain(before), _plain(after))) for each in found for before, after in [shown(each)])


def _plain(value: Any) -> Any:
    return without_empty(value) if isinstance(value, dict) else value
