"""`pulumi up` that is killed, and run again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.engine.interruption import kill_all, start_up
from tests.engine.live import Live, until
from tests.engine.project import Project

# What is there when the engine is killed: each object in the order in which it is made, seen on the live cluster.
MOMENTS: dict[str, Callable[[Live, str], bool]] = {
    "the service is made": lambda live, namespace: live.find("services", "extras", namespace) is not None,
    "the queue is made": lambda live, namespace: live.find("queues", "extras") is not None,
    "the claim is made": lambda live, namespace: (
        live.find("persistentvolumeclaims", "extras-output", namespace) is not None
    ),
    "the job is made": lambda live, namespace: bool(live.find_all("jobs", namespace)),
    "the pods run": lambda live, namespace: any(
        pod["status"].get("phase") == "Running" for pod in live.find_all("pods", namespace)
    ),
}


def converges(project: Project, live: Live, stack: str) -> None:
    """Give back the lock of the killed engine, run `up` again, and find everything as it should be."""
    project.pulumi("cancel", "--yes", "-s", stack)
    project.up(stack)
    project.unchanged(stack)
    live.running_pods(project.namespace, 8)
    live.only_job(project.namespace)


def test_killed_while_the_program_loads(project: Project, live: Live) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    process = start_up(project, stack)
    time.sleep(0.5)
    kill_all(process)
    assert live.find_all("jobs", project.namespace) == []
    converges(project, live, stack)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_as_soon_as(project: Project, live: Live, moment: str) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    process = start_up(project, stack)
    until(lambda: MOMENTS[moment](live, project.namespace), moment)
    kill_all(process)
    converges(project, live, stack)


def test_an_empty_file_beside_the_state_is_no_loss(project: Project, live: Live) -> None:
    """What a kill may leave where the state's URL does not say `metadata=skip`; the documentation says what to do then."""
    project.environ["PULUMI_BACKEND_URL"] = project.environ["PULUMI_BACKEND_URL"].partition("?")[0]
    project.copied("extras")
    stack = project.stack("extras")
    project.up(stack)
    (beside,) = project.folder.rglob(f"{stack}.json.attrs")
    beside.write_text("")
    assert "failed to load checkpoint: EOF" in project.pulumi("preview", "-s", stack).failed()
    beside.unlink()
    converges(project, live, stack)


def test_nothing_stands_beside_the_state(project: Project) -> None:
    project.copied("hello")
    project.stack("hello")
    assert [*project.folder.rglob("hello.dev.json")]
    assert [*project.folder.rglob("*.attrs")] == []


def test_the_lock_of_a_killed_up_is_told(project: Project, live: Live) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    process = start_up(project, stack)
    until(lambda: MOMENTS["the service is made"](live, project.namespace), "the service")
    kill_all(process)
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    assert "the stack is currently locked" in output
    assert "pulumi cancel" in output
    converges(project, live, stack)


def test_a_replacement_killed_after_the_old_job_is_gone(project: Project, live: Live) -> None:
    project.copied("extras")
    stack = project.stack("extras")
    project.up(stack)
    live.running_pods(project.namespace, 8)
    before = live.only_job(project.namespace)["metadata"]["name"]
    project.copied("extras", lambda data: data.update(image="registry.example.com/ai/pytorch-training:2.4"))
    process = start_up(project, stack)
    until(lambda: before not in live.names("jobs", project.namespace), "the old job to go")
    kill_all(process)
    converges(project, live, stack)
    assert live.only_job(project.namespace)["metadata"]["name"] != before
