"""Where the release of a stack comes from, as a review shows it."""

from __future__ import annotations

from trainform.releases.evidence import PASSED
from trainform.releases.model import Release
from trainform.review.model import Origin, WaivedGate


def origin_of(release: Release | None) -> Origin | None:
    """Return the evidence of the release that a reviewer needs; None without a release."""
    if release is None:
        return None
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
