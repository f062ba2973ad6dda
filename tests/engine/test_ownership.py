"""Two stacks of the same experiment in the same environment, from two checkouts that know nothing of each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.refusing import LABEL, refusing

pytestmark = pytest.mark.proof("two stacks that would take each other's objects")

MARK = "trainform.dev/stack"


@pytest.fixture
def colleague(tmp_path: Path, project: Project, sandbox_exports: dict[str, str]) -> Project:
    """Another checkout with a state of its own, in the same environment."""
    other = Project(tmp_path / "colleague", sandbox_exports, project.namespace)
    other.environment()
    return other


def of_hello(project: Project, name: str) -> str:
    project.copied("hello")
    return project.program_stack(name, {"trainform:experiment": "hello"})


def test_the_second_stack_is_refused_until_the_first_is_gone(project: Project, colleague: Project, live: Live) -> None:
    stack, theirs = of_hello(project, "mine"), of_hello(colleague, "theirs")
    project.up(stack)
    record = live.get("configmaps", "hello-deployed", project.namespace)
    assert record["metadata"]["annotations"][MARK] == "trainform/mine"
    job = live.only_job(project.namespace)["metadata"]["uid"]
    output = " ".join(colleague.pulumi("up", "--yes", "--skip-preview", "-s", theirs).failed().split())
    assert (
        f"the experiment hello is deployed in the namespace {project.namespace} already, by the stack "
        "trainform/mine (this one is trainform/theirs)" in output
    )
    assert "destroy that stack, or give this experiment another `name`" in output
    assert live.only_job(project.namespace)["metadata"]["uid"] == job
    project.unchanged(stack)
    project.destroy(stack)
    colleague.up(theirs)
    assert (
        live.get("configmaps", "hello-deployed", project.namespace)["metadata"]["annotations"][MARK]
        == "trainform/theirs"
    )
    colleague.destroy(theirs)


def test_a_stack_that_has_marked_nothing_does_not_delete_what_another_one_has_taken_over(
    project: Project, colleague: Project, live: Live
) -> None:
    """The first `up` fails at the job, after its Service was made and before the record, which has the mark."""
    project.copied("hello", lambda data: data.update(labels=LABEL))
    stack, theirs = project.stack("hello"), of_hello(colleague, "theirs")
    with refusing(live, project.namespace):
        project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    colleague.up(theirs)
    destroyed = project.trainform("destroy", stack, "--", "--yes", "--skip-preview")
    assert destroyed.code == 2, destroyed.output
    assert f"hello in the namespace {project.namespace} is deployed by the stack trainform/theirs by now" in " ".join(
        destroyed.output.split()
    )
    assert "hello" in live.names("services", project.namespace)
    assert live.only_job(project.namespace)["metadata"]["name"] == colleague.plan("hello").job
    colleague.unchanged(theirs)
    colleague.destroy(theirs)
    project.trainform("destroy", stack, "--", "--yes", "--skip-preview").succeeded()
