"""Jobs on TrainingRuntimes of somebody else's, which `up` reads from the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.trainer.samples import MPI, TORCH, with_jobs
from tests.engine.live import Live
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project

pytestmark = pytest.mark.proof("runtimes of a platform team")

KIND = "TrainingRuntime"
SWEEP: dict[str, Any] = {
    "backend": "trainer",
    "runtime": {"name": "shared", "kind": KIND},
    "image": "registry.example.com/ai/mpi:4",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 2, "cpu": 1, "memory": "1Gi"}},
}
ON_MPI: dict[str, Any] = {
    **SWEEP,
    "runtime": {"name": "mpi", "kind": KIND},
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"replicas": 1}, "worker": {"replicas": 2}},
}


def offer(live: Live, project: Project, name: str, content: dict[str, Any]) -> dict[str, Any]:
    """Make a runtime of the platform team's in the project's namespace."""
    body = {**content, "kind": KIND, "metadata": {"name": name, "namespace": project.namespace}}
    live.make(body)
    return body


def refused(project: Project, stack: str) -> str:
    """Return what the preview says, in one line."""
    return " ".join(project.pulumi("preview", "-s", stack).failed().split())


def test_jobs_on_runtimes_that_are_there(addons_project: Project, addons_live: Live) -> None:
    """The first is missing; the second lacks a job, which Trainer's webhook would refuse with a text that does not name
    it; then it has a policy of another launcher, which no webhook refuses; then both are right."""
    project, live = addons_project, addons_live
    project.experiment("sweep", SWEEP)
    project.experiment("reduce", ON_MPI)
    stack = stack_of(project, "named", ["sweep", "reduce"])
    assert f"there is no {KIND} shared on " in refused(project, stack)

    offer(live, project, "shared", TORCH)
    lacking = offer(live, project, "mpi", with_jobs(MPI, {"node": None}))
    said = refused(project, stack)
    assert f"the {KIND} mpi: template.spec.replicatedJobs has no replicated job `node`" in said, said
    live.remove(lacking)
    flux = offer(
        live,
        project,
        "mpi",
        {**MPI, "spec": {**MPI["spec"], "mlPolicy": {"numNodes": 1, "flux": {"numProcPerNode": 1}}}},
    )
    assert f"the {KIND} mpi: mlPolicy is flux, and the launcher is mpi" in refused(project, stack)
    live.remove(flux)

    offer(live, project, "mpi", MPI)
    steps = project.applied(stack)
    assert {step.name for step in steps if step.kind == "TrainJob"} == {"sweep-job", "reduce-job"}
    assert KIND not in {step.kind for step in steps}, "it is not ours, to change or to destroy"
    plan = project.plan("sweep")
    pods = pods_of(live, plan)
    assert pods.keys() == {pod.name for pod in plan.pods()}
    for pod in pods.values():
        [main] = pod["spec"]["containers"]
        assert main["image"] == SWEEP["image"], "the TrainJob's, not the runtime's"
        assert main["command"][-2:] == ["/bin/sh", "/etc/trainform/launch.sh"]
    project.unchanged(stack)
