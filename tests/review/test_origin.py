"""Where the release of a stack comes from, on one line of a review."""

from __future__ import annotations

from pathlib import Path

from tests.support.releases import FORGED, ORIGIN, PROMOTED, forged, project, release
from trainform.deployed.releases.release import GateWaiver, Rollback
from trainform.review.files import origin_of, read_origin

ADA = "Ada Byron <ada@example.com>"


def test_a_promotion_is_shown_with_its_gates_and_waivers() -> None:
    waived = [GateWaiver(gate="soak", reason="the demo is today", by=ADA)]
    gates = {"from": "passed", "digest": "passed", "soak": "waived"}
    made = release(PROMOTED.model_copy(update={"gates": gates, "waived": waived}))
    origin = origin_of(made)
    assert (origin.source, origin.environment) == (PROMOTED.source, ORIGIN.environment)
    assert origin.passed == ["from", "digest"]
    assert origin.text == (
        f"Release {made.name} from sdxl-lora.dev, promoted by {ADA} at {PROMOTED.at}; gates: passed from, digest; "
        f"waived soak by {ADA} (the demo is today)"
    )


def test_a_promotion_without_gates_and_a_rollback_say_who_and_when() -> None:
    made = release(PROMOTED.model_copy(update={"gates": {}}))
    assert origin_of(made).text.endswith(f"promoted by {ADA} at {PROMOTED.at}")
    back = made.model_copy(update={"rollback": Rollback(of=None, to=None, reason="the loss rises")})
    assert origin_of(back).text == f"Release {back.name}: rolled back by {ADA} at {PROMOTED.at}: the loss rises"


def test_a_release_is_read_from_its_file(tmp_path: Path) -> None:
    made = release()
    name = project(tmp_path, made)
    assert read_origin("sdxl-lora", name, tmp_path) == origin_of(made)
    assert read_origin("sdxl-lora", None, tmp_path) is None
    assert read_origin("sdxl-lora", "0123456789abcdef0123", tmp_path) is None


def test_forged_evidence_is_masked() -> None:
    for is_rollback in (False, True):
        assert FORGED not in origin_of(forged(is_rollback=is_rollback)).text
