"""`trainform events` of a job on the sandbox."""

from __future__ import annotations

import json

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.test_real_logs import view_only

pytestmark = pytest.mark.proof("events of the real scheduler and controllers")


def test_one_timeline_of_the_stack_the_job_and_its_pods(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    live.running_pods(project.namespace, 2)
    shown = project.trainform("events", stack, COLUMNS="80").succeeded()
    assert max(map(len, shown.splitlines())) <= 80
    for text in (
        f"Job {project.plan('hello').job}: created: revision",
        f"stack {stack}: up: succeeded",
        "2 pods: Scheduled",
    ):
        assert text in shown, shown
    data = json.loads(project.trainform("events", stack, "--output", "json").succeeded())
    times = [entry["at"] for entry in data["entries"]]
    assert times == sorted(times)
    keys = [(entry["object"], entry["what"], entry["text"]) for entry in data["entries"]]
    assert len(keys) == len({*keys})

    assert "is simulated, and runs no containers" in project.trainform("logs", stack).failed()

    viewer = view_only(project, live)
    ran = project.trainform("events", stack, KUBECONFIG=viewer)
    assert (ran.code, "Not read\n  job: this account has no permission" in ran.output) == (1, True), ran.output
    assert "2 pods: Scheduled" in ran.output
