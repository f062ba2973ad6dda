"""`trainform review` of a job that runs, through the real engine and on a live cluster."""

from __future__ import annotations

import sys
from pathlib import Path
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
    ran = project.run(sys.executable, "-m", "trainform", "review", stack, "--quiet", *words)
    assert ran.code == code, ran.output
    return ran.output


def report_of(project: Project, stack: str, file: Path, *words: str, code: int = 0) -> Report:
    """The report, read from a file: warnings of the engine's language host go to standard error."""
    review(project, stack, "-o", str(file), *words, code=code)
    return Report.model_validate_json(file.read_text())


def test_a_running_job_gets_another_image(project: Project, live: Live, tmp_path: Path) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    new = report_of(project, stack, tmp_path / "new.json")
    assert {effect.kind for effect in new.effects} >= {"create"}
    project.up(stack)
    job = live.only_job(project.namespace)["metadata"]["name"]

    same = report_of(project, stack, tmp_path / "same.json", "--fail-on", "low")
    assert same.headline.startswith("Nothing changes")
    assert [part for part in same.not_checked if part.what == "cluster"] == []

    write(project, "b")
    changed = report_of(project, stack, tmp_path / "changed.json", "--fail-on", "restart", code=3)
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


def test_a_program_that_fails_is_a_review_that_fails(project: Project, tmp_path: Path) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    write(project, "a", roles={})
    output = review(project, stack, "--fail-on", "high", code=1)
    assert "Traceback" not in output


def test_a_wrong_passphrase_is_a_review_that_fails(project: Project) -> None:
    project.environment()
    write(project, "a")
    stack = project.stack("bert")
    words = (sys.executable, "-m", "trainform", "review", stack)
    ran = project.run(*words, PULUMI_CONFIG_PASSPHRASE=ANOTHER)
    assert ran.code == 1
    output = ran.output
    assert "Traceback" not in output
    assert "incorrect passphrase" in output
