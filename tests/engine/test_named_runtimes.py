"""Jobs on a TrainingRuntime of somebody else's, which `up` reads from the cluster."""

from __future__ import annotations

import threading
from typing import Any

from tests.backends.trainer_samples import MPI, TORCH, with_jobs
from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.project import Project

RUNTIME = {"name": "shared", "kind": "TrainingRuntime"}
SWEEP: dict[str, Any] = {
    "backend": "trainer",
    "runtime": RUNTIME,
    "image": "registry.example.com/ai/mpi:4",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 2, "cpu": 1, "memory": "1Gi"}},
}
ON_MPI: dict[str, Any] = {
    **SWEEP,
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"replicas": 1}, "worker": {"replicas": 2}},
}


def offer(live: Live, project: Project, content: dict[str, Any]) -> dict[str, Any]:
    """Make the platform team's runtime in the project's namespace."""
    metadata = {"name": RUNTIME["name"], "namespace": project.namespace}
    body = {**content, "kind": RUNTIME["kind"], "metadata": metadata}
    live.make(body)
    return body


def refused(project: Project, stack: str) -> str:
    """What the preview says, in one line."""
    return " ".join(project.pulumi("preview", "-s", stack).failed().split())


def test_a_job_on_a_runtime_that_is_there(addons_project: Project, addons_live: Live) -> None:
    project, live = addons_project, addons_live
    project.experiment("sweep", SWEEP)
    stack = project.stack("sweep")
    assert "there is no TrainingRuntime shared on " in refused(project, stack)

    offer(live, project, TORCH)
    project.up(stack)
    plan = project.plan("sweep")
    pods = pods_of(live, plan)
    assert pods.keys() == {pod.name for pod in plan.pods()}
    for pod in pods.values():
        [main] = pod["spec"]["containers"]
        assert main["image"] == SWEEP["image"], "the TrainJob's, not the runtime's"
        assert main["command"][-2:] == ["/bin/sh", "/etc/trainform/launch.sh"]
    project.unchanged(stack)
    project.destroy(stack)
    until(lambda: not live.find_all("pods", project.namespace), "all pods to go")
    assert live.find("trainingruntimes", "shared", project.namespace) is not None, "it is not ours"


LATE = """\
import pulumi
from trainform.manifests.manifest import Manifest
from trainform.resources.apply import register

settings = pulumi.Config("trainform")
parent = pulumi.ComponentResource("test:index:Late", "late")
register(Manifest("job", settings.require_object("body")), parent, None)
"""


def test_webhooks_may_learn_of_a_runtime_later(addons_project: Project, addons_live: Live) -> None:
    """They have caches of their own, and deny a TrainJob whose runtime they do not know yet."""
    project, live = addons_project, addons_live
    (project.folder / "stacks" / "__main__.py").write_text(LATE)
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "late", "namespace": project.namespace},
        "spec": {"runtimeRef": RUNTIME, "trainer": {"numNodes": 1}},
    }
    stack = project.program_stack("late", {"trainform:body": body})
    late = threading.Timer(9, offer, (live, project, TORCH))
    late.start()
    project.up(stack)
    assert not late.is_alive()
    assert live.names("trainjobs", project.namespace) == {"late"}
    project.destroy(stack)


def test_a_launcher_that_counts_as_a_node_needs_both_jobs(addons_project: Project, addons_live: Live) -> None:
    """What Trainer's webhook would refuse with a text that names neither."""
    project, live = addons_project, addons_live
    project.experiment("sweep", ON_MPI)
    stack = project.stack("sweep")
    for missing in ("node", "launcher"):
        body = offer(live, project, with_jobs(MPI, {missing: None}))
        said = refused(project, stack)
        assert f"the TrainingRuntime shared: template.spec.replicatedJobs has no replicated job `{missing}`" in said, (
            said
        )
        live.remove(body)
    offer(live, project, MPI)
    project.pulumi("preview", "-s", stack).succeeded()
