"""`trainform review` of a job that runs, through the real engine and on a live cluster."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project, Reviewed
from tests.engine.test_capacity import WAITS
from trainform.review.model import Report, Review

pytestmark = pytest.mark.proof("a review of a running job")

IMAGE = "registry.example.com/ai/pytorch-training"


def write(project: Project, tag: str, name: str = "bert", **parts: Any) -> None:
    data = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": True}},
        **parts,
    }
    project.experiment(name, data)


def reviewed(project: Project, *words: str, code: int = 0) -> Reviewed:
    found = project.review(*words)
    assert found.code == code, found.forms["shown"]
    return found


def review(project: Project, *words: str, code: int = 0) -> str:
    return reviewed(project, "--quiet", *words, code=code).forms["shown"]


def report_of(project: Project, stack: str, *words: str, code: int = 0) -> Report:
    """The report, read from a file: warnings of the engine's language host go to standard error."""
    [report] = review_in(project, stack, *words, code=code).stacks
    return report


def review_in(project: Project, *words: str, code: int = 0) -> Review:
    return Review.model_validate_json(reviewed(project, *words, code=code).forms["json"])


def test_a_stack_that_the_backend_does_not_have_and_a_program_that_fails(project: Project) -> None:
    project.environment()
    write(project, "a")
    path = project.folder / "stacks" / "Pulumi.bert.dev.yaml"
    path.write_text("config:\n  trainform:experiment: bert\n  trainform:environment: dev\n")
    before = path.read_text()
    new = report_of(project, "bert.dev")
    assert {effect.kind for effect in new.effects} >= {"create"}, new.headline
    assert any("The backend does not have the stack bert.dev" in message.text for message in new.messages)
    assert path.read_text() == before, "no salt"
    assert "bert.dev" not in project.pulumi("stack", "ls").succeeded()
    path.write_text(f"{before}  trainform:sshSecret:\n    secure: v1:abc:def\n")
    assert "needs its passphrase" in report_of(project, "bert.dev", code=1).headline
    path.unlink()

    stack = project.stack("bert")
    write(project, "a", roles={})
    review(project, stack, "--fail-on", "high", code=1)


def test_several_stacks_make_one_review(project: Project, live: Live) -> None:
    """A change makes a queue smaller, replaces a job in it and adds another; then one of the stacks fails."""
    sizes = [{"research": {"weight": weight, "capability": {"a800": most}}} for weight, most in ((2, 32), (3, 16))]
    project.environment(queues=sizes[0])
    write(project, "a", queue="research")
    write(project, "b", "resnet", storage={}, queue="research")
    own, bert, resnet = project.stack(), project.stack("bert"), project.stack("resnet")
    project.up(own)
    project.up(bert)
    live.running_pods(project.namespace, 2)
    project.environment(queues=sizes[1])
    write(project, "c", queue="research")

    found = review_in(project, "--all", "-e", "dev")
    assert [report.stack for report in found.stacks] == [own, bert, resnet]
    assert [report.outcome for report in found.stacks if report.outcome == "failed"] == []
    platform, changed, new = found.stacks
    assert "TR-NEIGHBOURS-1" in {finding.code for finding in platform.findings}, platform.headline
    assert "`image`" in changed.headline
    assert {effect.kind for effect in new.effects} >= {"create"}
    hourly = [Decimal(report.cost.after.amount) for report in found.stacks if report.cost.after is not None]
    assert found.cost.after is not None
    assert Decimal(found.cost.after.amount) == sum(hourly)
    assert len(hourly) == 2

    job = project.plan("bert").job
    assert (changed.capacity.verdict, new.capacity.clause) == ("now", f"waits for 16 a800 held by {job}")

    named = review_in(project, resnet, bert)
    assert [report.stack for report in named.stacks] == [resnet, bert]
    assert [report.capacity.verdict for report in named.stacks] == ["now", "now"], (
        "the deployed queue has room for both"
    )

    for stack in (own, bert, resnet):
        project.up(stack)
    time.sleep(WAITS)
    assert {pod["metadata"]["name"].startswith(job) for pod in live.running_pods(project.namespace, 2)} == {True}

    write(project, "c", roles={})
    ended = reviewed(project, resnet, bert, code=1)
    failed = Review.model_validate_json(ended.forms["json"])
    assert [report.outcome for report in failed.stacks][1:] == ["failed"]
    assert "Review of 2 stacks: failed\n" in ended.forms["shown"]
