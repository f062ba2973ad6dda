"""Where the release of a stack comes from, as a review shows it."""

from __future__ import annotations

from pathlib import Path

from trainform.errors import InputError
from trainform.releases.evidence import PASSED
from trainform.releases.files import read_release
from trainform.releases.model import Release
from trainform.review.model import Origin, WaivedGate


def read_origin(experiment: str, release: str | None, root: Path) -> Origin | None:
    """Return the origin of the release; None without one, or if its file cannot be read."""
    try:
        return None if release is None else origin_of(read_release(experiment, release, root))
    except InputError:
        return None


def origin_of(release: Release) -> Origin:
    """Return the evidence in a release that a reviewer needs."""
    told = release.told
    return Origin(
        release=release.name,
        source=told.promoted.source,
        environment=told.origin.environment,
        by=told.promoted.by,
        at=told.promoted.at,
        passed=[gate for gate, result in told.promoted.gates.items() if result == PASSED[0]],
        waived=[WaivedGate(gate=each.gate, by=each.by, reason=each.reason) for each in told.promoted.waived],
        rollback="" if told.rollback is None else told.rollback.reason,
    )
