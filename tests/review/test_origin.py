"""Where the release of a stack comes from, on one line of a review."""

from __future__ import annotations

from tests.support.releases import FORGED, ORIGIN, PROMOTED, forged, release
from trainform.releases.model import Rollback, Waived
from trainform.review.model import Origin
from trainform.review.origin import origin_of

ADA = "Ada Byron <ada@example.com>"


def shown(made: Origin | None) -> str:
    assert made is not None
    return made.text


def test_a_promotion_is_shown_with_its_gates_and_waivers() -> None:
    waived = [Waived(gate="soak", reason="the demo is today", by=ADA)]
    gates = {"from": "passed", "digest": "passed", "soak": "waived"}
    made = release(PROMOTED.model_copy(update={"gates": gates, "waived": waived}))
    origin = origin_of(made)
    assert origin is not None
    assert (origin.source, origin.environment, origin.passed) == (
        PROMOTED.source,
        ORIGIN.environment,
        ["from", "digest"],
    )
    assert origin.text == (
        f"Release {made.name} from sdxl-lora.dev, promoted by {ADA} at 2026-11-23T14:35:24Z; gates: passed from, "
        f"digest; waived soak by {ADA} (the demo is today)"
    )


def test_a_promotion_without_gates_and_a_rollback_say_who_and_when() -> None:
    made = release(PROMOTED.model_copy(update={"gates": {}}))
    assert shown(origin_of(made)).endswith(f"promoted by {ADA} at 2026-11-23T14:35:24Z")
    back = made.model_copy(update={"rollback": Rollback(of=None, to=None, reason="the loss rises")})
    assert (
        shown(origin_of(back)) == f"Release {back.name}: rolled back by {ADA} at 2026-11-23T14:35:24Z: the loss rises"
    )
    assert origin_of(None) is None


def test_forged_evidence_is_masked() -> None:
    for is_rollback in (False, True):
        assert FORGED not in shown(origin_of(forged(is_rollback=is_rollback)))
