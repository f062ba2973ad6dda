"""`pulumi up` that is killed, or met by another one."""

from __future__ import annotations

import time

import pytest

from tests.engine.interruption import kill_all, start_up
from tests.engine.live import Live, until
from tests.engine.project import Project

# Seconds after the start: while the program loads, while objects are made, while the job is made, after the end.
MOMENTS = (0.4, 1.5, 2.0, 2.5, 3.0, 4.0)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_up_converges_when_it_is_run_again(project: Project, live: Live, moment: float) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    process = start_up(project, stack)
    time.sleep(moment)
    kill_all(process)
    # a killed engine leaves its lock, and says so to the next one
    project.pulumi("cancel", "--yes", "-s", stack)
    project.up(stack)
    project.unchanged(stack)
    live.running_pods(project.namespace, 8)
    live.only_job(project.namespace)


def test_a_killed_replacement_converges_when_it_is_run_again(project: Project, live: Live) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    project.up(stack)
    live.running_pods(project.namespace, 8)
    before = live.only_job(project.namespace)["metadata"]["name"]
    project.copied("extras", lambda data: data.update(image="registry.example.com/ai/pytorch-training:2.4"))
    process = start_up(project, stack)
    until(lambda: before not in live.names("jobs", project.namespace) or None, "the old job to go")
    kill_all(process)
    project.pulumi("cancel", "--yes", "-s", stack)
    project.up(stack)
    project.unchanged(stack)
    assert live.only_job(project.namespace)["metadata"]["name"] != before
