"""Findings about what runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import ELASTIC, EMPTY, LORA, change, context, deployed, job_review, name_of, running, suspended
from trainform.cluster.phases import Phase
from trainform.review.context import Context
from trainform.review.findings.restart import find
from trainform.review.kinds import fingerprint

IMAGE = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}
NAME = name_of(LORA)


def found(made: Context) -> list[tuple[str, str]]:
    return [(finding.code, finding.level) for finding in find(made)]


def test_a_running_job_is_restarted() -> None:
    (finding,) = find(change(LORA, IMAGE, running(NAME)))
    assert (finding.code, finding.level) == ("TR-RESTART-1", "high")
    assert finding.title == f"The running job {NAME} is replaced."
    assert (finding.before, finding.after) == (LORA["image"], IMAGE["image"])
    identity = f"{LORA['name']} {NAME} {name_of(IMAGE)}"
    assert finding.fingerprint == fingerprint("TR-RESTART-1", identity, "", LORA["image"], IMAGE["image"])


def test_a_job_that_waits_or_is_gone_loses_nothing() -> None:
    assert found(change(LORA, IMAGE, running(NAME, Phase.QUEUED))) == []
    assert found(change(LORA, IMAGE, EMPTY)) == []


@pytest.mark.parametrize(("after", "code"), [(IMAGE, "TR-RESTART-1"), (None, "TR-RESTART-5")])
def test_where_it_is_unknown_whether_the_job_runs(after: dict[str, Any] | None, code: str) -> None:
    (finding,) = find(change(LORA, after))
    assert (finding.code, finding.level) == (code, "medium")
    assert finding.title.endswith("; whether it runs is not known: the cluster was not read.")


def test_a_finished_job_starts_again() -> None:
    (finding,) = find(change(LORA, IMAGE, running(NAME, Phase.SUCCEEDED)))
    assert (finding.code, finding.title) == ("TR-RESTART-2", f"The finished job {NAME} is replaced and trains again.")


def test_a_job_that_somebody_has_deleted_is_created_again() -> None:
    job = job_review(None, deployed(LORA))
    assert found(context(job, live=EMPTY)) == []
    assert found(context(dataclasses.replace(job, before=job.after), live=EMPTY)) == [("TR-RESTART-3", "medium")]


def scaled(replicas: int) -> dict[str, Any]:
    return {**ELASTIC, "roles": {"worker": {**ELASTIC["roles"]["worker"], "replicas": replicas}}}


def test_pods_end_if_a_role_becomes_smaller() -> None:
    (finding,) = find(change(scaled(5), scaled(3), running(name_of(ELASTIC))))
    assert (finding.code, finding.before, finding.after) == ("TR-RESTART-4", 5, 3)
    assert finding.title == f"The role worker of {name_of(ELASTIC)} loses 2 of its 5 pods."
    assert found(change(scaled(3), scaled(5), running(name_of(ELASTIC)))) == []
    assert found(change(scaled(5), scaled(3), running(name_of(ELASTIC), Phase.SUCCEEDED))) == []


@pytest.mark.parametrize(
    ("phase", "codes"), [(Phase.RUNNING, [("TR-RESTART-5", "high")]), (Phase.SUCCEEDED, []), (Phase.QUEUED, [])]
)
def test_a_job_is_stopped(phase: Phase, codes: list[tuple[str, str]]) -> None:
    assert found(change(LORA, None, running(NAME, phase))) == codes


def test_a_replacement_that_nothing_explains() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    same = dataclasses.replace(job, after=job.before)
    (finding,) = find(context(same, live=EMPTY))
    assert (finding.code, finding.category) == ("TR-UNKNOWN-1", "unknown")
    assert finding.title.endswith(" with no visible cause.")


def test_another_version_of_trainform_may_explain_it() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    assert job.before is not None
    upgraded = dataclasses.replace(job, after=structs.replace(job.before, version="1.0.0"))
    (finding,) = find(context(upgraded, live=EMPTY))
    assert finding.code == "TR-UNKNOWN-1"
    assert finding.title.endswith("trainform 0.9.0 deployed it, and 1.0.0 renders it now.")


@pytest.mark.parametrize("ended", [{"failed": "resource registration failed"}, {"incomplete": True}])
def test_a_preview_that_ended_before_the_record_does_not_say_that_there_is_no_cause(ended: dict[str, Any]) -> None:
    """After an `up` that failed, the components have what was wanted on both sides."""
    job = job_review(deployed(LORA), deployed(IMAGE))
    alike = job_review(deployed(IMAGE), deployed(IMAGE))
    cut = dataclasses.replace(job, component=alike.component, before=None, after=None, steps=alike.steps)
    whole = context(cut, live=running(NAME))
    assert found(whole) == [("TR-RESTART-1", "high"), ("TR-UNKNOWN-1", "medium")]
    (finding,) = find(dataclasses.replace(whole, preview=structs.replace(whole.preview, **ended)))
    assert finding.title == (
        f"The running job {NAME} is replaced for an unknown reason, since the preview ended early."
    )


JOBSET = {**LORA, "backend": "jobset"}


@pytest.mark.parametrize(
    ("phase", "codes"), [(Phase.RUNNING, [("TR-RESTART-7", "high")]), (Phase.SUCCEEDED, []), (Phase.QUEUED, [])]
)
def test_a_job_is_suspended(phase: Phase, codes: list[tuple[str, str]]) -> None:
    job = job_review(deployed(JOBSET), suspended(deployed(JOBSET)))
    assert found(context(job, live=running(name_of(JOBSET), phase))) == codes


def test_where_it_is_unknown_whether_a_suspended_job_runs() -> None:
    (finding,) = find(context(job_review(deployed(JOBSET), suspended(deployed(JOBSET)))))
    assert (finding.code, finding.level) == ("TR-RESTART-7", "medium")
    assert finding.title.endswith("; whether it runs is not known: the cluster was not read.")


def test_a_suspended_job_that_is_resumed_loses_nothing() -> None:
    job = job_review(suspended(deployed(JOBSET)), deployed(JOBSET))
    assert found(context(job, live=running(name_of(JOBSET), Phase.SUSPENDED))) == []
