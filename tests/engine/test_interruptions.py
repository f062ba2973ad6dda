"""`pulumi up` that is killed, and run again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.engine.interruption import kill_all, start_up
from tests.engine.live import Live, until
from tests.engine.project import Project

pytestmark = pytest.mark.proof("kills at every moment")

# What is there when the engine is killed: each object in the order in which it is made, seen on the live cluster.
MOMENTS: dict[str, Callable[[Live, str], bool]] = {
    "the service is made": lambda live, namespace: live.find("services", "extras", namespace) is not None,
    "the queue is made": lambda live, namespace: live.find("queues", "extras") is not None,
    "the job is made": lambda live, namespace: bool(live.find_all("jobs", namespace)),
    "the pods run": lambda live, namespace: any(
        pod["status"].get("phase") == "Running" for pod in live.find_all("pods", namespace)
    ),
}


def kill_at(moment: str, project: Project, live: Live, stack: str) -> None:
    process = start_up(project, stack)
    until(lambda: MOMENTS[moment](live, project.namespace), moment)
    kill_all(process)


def converges(project: Project, live: Live, stack: str) -> None:
    """Give back the lock of the killed engine, run `up` again, and find everything as it should be."""
    project.pulumi("cancel", "--yes", "-s", stack)
    project.up(stack)
    live.running_pods(project.namespace, 8)
    job = live.only_job(project.namespace)["metadata"]["name"]
    assert {name for name in live.names("configmaps", project.namespace) if name.endswith("-launch")} == {
        f"{job}-launch"
    }


@pytest.fixture
def stack(project: Project) -> str:
    """Return the stack of `extras`, not up."""
    project.copied("extras")
    return project.stack("extras")


def test_killed_while_the_program_loads_and_again_when_the_service_is_made(
    project: Project, live: Live, stack: str
) -> None:
    process = start_up(project, stack)
    time.sleep(0.5)
    kill_all(process)
    assert live.find_all("jobs", project.namespace) == []
    project.pulumi("cancel", "--yes", "-s", stack)

    kill_at("the service is made", project, live, stack)
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    assert "the stack is currently locked" in output
    assert "pulumi cancel" in output
    converges(project, live, stack)
    project.unchanged(stack)
    # such a file, empty, would be what a kill leaves
    assert [*project.folder.rglob(f"{stack}.json")]
    assert [*project.folder.rglob("*.attrs")] == []


@pytest.mark.shows("an `up` that is killed loses nothing")
def test_killed_as_soon_as_the_job_is_made(project: Project, live: Live, stack: str) -> None:
    kill_at("the job is made", project, live, stack)
    converges(project, live, stack)


def test_killed_when_the_pods_run_and_a_replacement_after_the_old_job_is_gone(
    project: Project, live: Live, stack: str
) -> None:
    kill_at("the pods run", project, live, stack)
    converges(project, live, stack)
    before = live.only_job(project.namespace)["metadata"]["name"]
    project.copied("extras", lambda data: data.update(image="registry.example.com/ai/pytorch-training:2.4"))
    process = start_up(project, stack)
    until(lambda: before not in live.names("jobs", project.namespace), "the old job to go")
    kill_all(process)
    converges(project, live, stack)
    assert live.only_job(project.namespace)["metadata"]["name"] != before
    project.unchanged(stack)
