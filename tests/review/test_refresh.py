"""What a refresh has found, in the report: the recorded previews are `tests/engine/test_previews.py`'s, and their steps
in other company."""

from __future__ import annotations

from typing import Any

from tests.support import previews
from tests.support.previews import CLAIM, state, step_event, urn
from tests.support.repository import ROOT
from trainform.cluster.facts import LiveFacts
from trainform.cluster.live_drift import Drift
from trainform.review.context import Context
from trainform.review.jobs import jobs_of
from trainform.review.model import Report
from trainform.review.read import read_preview
from trainform.review.report import build_report

STREAM, DIGEST = (
    (ROOT / "tests" / "review" / "recorded" / f"refresh.{suffix}").read_text() for suffix in ("jsonl", "json")
)
LOGS = urn(CLAIM, "bert-claim-logs")
SMALL, LARGE = (
    state(
        {"metadata": {"name": "bert-logs"}, "spec": {"resources": {"requests": {"storage": size}}}}, id="ai/bert-logs"
    )
    for size in ("1Gi", "2Gi")
)


def report_of(text: str, live: LiveFacts | None = None) -> Report:
    preview = read_preview(text)
    return build_report(Context("bert.dev", preview, jobs_of(preview), live=live))


def drifts(report: Report) -> list[tuple[str, str, str]]:
    return [(found.code, found.level, found.object) for found in report.findings if found.category == "drift"]


def sentences(report: Report) -> list[str]:
    return [effect.sentence for effect in report.effects]


def refresh(found: dict[str, Any] | None, old: dict[str, Any] = SMALL) -> list[previews.Data]:
    """The step, whose states are both the one before, and what the engine says of it afterwards."""
    outputs = step_event("refresh", LOGS, old, found)["resourcePreEvent"]
    return [step_event("refresh", LOGS, old, old), {"resOutputsEvent": outputs}]


def test_a_recorded_refresh() -> None:
    """The claim has left the experiment and the cluster, the Service was edited, the job was deleted."""
    report = report_of(STREAM)
    (service,) = [found for found in report.findings if found.code == "TR-DRIFT-1"]
    job = next(
        found.object
        for found in report.findings
        if found.object.startswith("bert-") and found.before == f"Job/{found.object}"
    )
    assert drifts(report) == [
        ("TR-DRIFT-2", "high", "bert-logs"), ("TR-DRIFT-1", "medium", "bert"), ("TR-DRIFT-2", "medium", job),
    ]  # fmt: skip
    assert service.title == (
        "The live Service bert differs in spec.publishNotReadyAddresses: applied was true, and after the refresh the "
        "stack's state has nothing."
    )
    assert not any("bert-logs" in said for said in sentences(report)), "no step is about the claim"
    assert report.outcome == "findings"
    assert {part.what for part in report.not_checked} == {"limits"}


def test_a_claim_that_the_program_makes_again() -> None:
    report = report_of(previews.stream(*refresh(None), step_event("create", LOGS, None, SMALL)))
    assert drifts(report) == [("TR-DRIFT-2", "high", "bert-logs")]
    assert sentences(report) == ["Creates the claim bert-logs."]
    (finding,) = report.findings
    assert finding.why.startswith("This change creates it again")


def test_a_refresh_that_finds_what_the_state_has_says_nothing() -> None:
    gone = step_event("delete", LOGS, SMALL)
    outputs = {"resOutputsEvent": gone["resourcePreEvent"]}
    for events in (
        refresh(SMALL),
        [*refresh(SMALL), step_event("same", LOGS, SMALL, SMALL)],
        [*refresh(SMALL), gone, outputs],
    ):
        assert drifts(report_of(previews.stream(*events))) == []
    assert sentences(report_of(previews.stream(*refresh(SMALL)))) == ["Nothing changes."]


def test_what_the_cluster_says_too_is_one_finding() -> None:
    """It also says who wrote the field."""
    field = "spec.resources.requests.storage"
    drift = Drift("PersistentVolumeClaim", "bert-logs", field, "1Gi", "2Gi", "kubectl-edit", "2026-11-23T09:02:07Z")
    live = LiveFacts("2026-11-23T10:00:00Z", drift=(drift,))
    (finding,) = report_of(previews.stream(*refresh(LARGE)), live).findings
    assert "manager kubectl-edit" in finding.title
    gone = LiveFacts("2026-11-23T10:00:00Z", missing=("PersistentVolumeClaim/bert-logs",))
    assert drifts(report_of(previews.stream(*refresh(None)), gone)) == [("TR-DRIFT-2", "high", "bert-logs")]
