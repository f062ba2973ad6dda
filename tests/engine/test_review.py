"""`trainform review` of a job that runs, through the real engine and on a live cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from trainform.review.model import Report

pytestmark = pytest.mark.proof("a review of a running job")

ANOTHER = "another battery staple"
IMAGE = "registry.example.com/ai/pytorch-training"


def write(project: Project, tag: str, **parts: Any) -> None:
    data = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": True}},
        **parts,
    }
    project.experiment("bert", data)


def review(project: Project, stack: str, *words: str, code: int = 0) -> str:
    reviewed = project.review(stack, "--quiet", *words)
    assert reviewed.code == code, reviewed.forms["shown"]
    return reviewed.forms["shown"]


def report_of(project: Project, stack: str, *words: str, code: int = 0) -> Report:
    """The report, read from a file: warnings of the engine's language host go to standard error."""
    reviewed = project.review(stack, *words)
    assert reviewed.code == code, reviewed.forms["shown"]
    return Report.model_validate(reviewed.report)


def test_a_running_job_gets_another_image(project: Project, live: Live) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    new = report_of(project, stack)
    assert {effect.kind for effect in new.effects} >= {"create"}
    project.up(stack)
    job = live.only_job(project.namespace)["metadata"]["name"]

    same = report_of(project, stack, "--fail-on", "low")
    assert same.headline.startswith("Nothing changes")
    assert [part for part in same.not_checked if part.what == "cluster"] == []

    write(project, "b")
    changed = report_of(project, stack, "--fail-on", "restart", code=3)
    assert job in changed.headline
    assert "`image`" in changed.headline
    restarts = [finding for finding in changed.findings if finding.category == "restart"]
    assert [finding.object for finding in restarts] == [job]
    [cause] = [cause for effect in changed.effects for cause in effect.causes]
    assert (cause.place.path, cause.place.file) == ("image", "stacks/experiments/bert.yaml")
    assert cause.place.line > 0
    assert {fact.object for fact in changed.live} >= {job}
    assert "TR-DATA-1" not in {finding.code for finding in changed.findings}
    assert "Findings\n  HIGH " in review(project, stack)


def test_a_program_that_fails_is_a_review_that_fails(project: Project) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    write(project, "a", roles={})
    review(project, stack, "--fail-on", "high", code=1)


def test_a_wrong_passphrase_is_a_review_that_fails(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    project.secrets.add(ANOTHER)
    monkeypatch.setitem(project.environ, "PULUMI_CONFIG_PASSPHRASE", ANOTHER)
    assert "incorrect passphrase" in review(project, stack, code=1)
