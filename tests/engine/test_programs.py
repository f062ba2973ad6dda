"""The verbs of a stack whose program is the user's own, and makes several jobs of models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.project import Project, Ran

pytestmark = pytest.mark.proof("verbs of a program's stack; those of a project's stacks are in `make test`")

STACK = "sweep"
PROGRAM = """\
from trainform import Experiment, TrainingJob

for rate in ("1e-4", "3e-4"):
    data = {
        "name": f"bert-{rate}",
        "image": "registry.example.com/ai/pytorch-training:2.8",
        "launcher": {"torchrun": {"script": "/app/train.py", "args": ["--lr", rate]}},
        "roles": {"worker": {"replicas": 2}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": True}},
    }
    TrainingJob(data["name"], Experiment(**data), "dev")
"""


def as_data(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.succeeded())
    return found


def test_the_stack_of_a_program_is_reviewed_compared_and_destroyed(project: Project) -> None:
    program = project.folder / "stacks" / "__main__.py"
    program.write_text(PROGRAM)
    project.program_stack(STACK, {"trainform:experiment": "bert-1e-4"})
    project.up(STACK)
    assert as_data(project.trainform("drift", STACK, "--output", "json"))["outcome"] == "in sync"
    (now,) = as_data(project.trainform("history", "bert-1e-4", "--output", "json"))["stacks"]
    assert now["stack"] == STACK
    assert {"bert-1e-4", "bert-3e-4"} <= {*project.trainform("stacks").succeeded().split()}

    program.write_text(PROGRAM.replace('"replicas": 2', '"replicas": 3'))
    preview = project.pulumi("preview", "--json", "-s", STACK).succeeded()
    (project.folder / "preview.json").write_text(preview[preview.index("{") :])
    for reviewed in (project.review("--preview-json", "preview.json"), project.review(STACK)):
        assert reviewed.code == 0
        shown = " ".join(reviewed.forms["txt"].split())
        assert "2 jobs: bert-1e-4-" in shown
        assert "2 claims unchanged: bert-1e-4-runs, bert-3e-4-runs" in shown
        assert "the cluster was not read" not in shown

    destroyed = project.trainform("destroy", STACK, "--", "--yes", "--skip-preview").succeeded()
    named = f"claims that stay in the cluster: {project.namespace}/bert-1e-4-runs, {project.namespace}/bert-3e-4-runs"
    assert named in " ".join(destroyed.split())
