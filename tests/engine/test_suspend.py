"""A job that its stack suspends and resumes, on the real controllers: in place, with the same object and revision."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.pods import as_planned
from tests.engine.project import Project
from trainform.manifests.manifest import job_body

IN_SPEC, IN_POLICY = "spec.suspend", "spec.runPolicy.suspend"
TORCHRUN: dict[str, Any] = {"torchrun": {"script": "/app/train.py"}}
# backend, admission, launcher, and the only field that changes
JOBS = {
    "jobset": ("jobset", "volcano", TORCHRUN, IN_SPEC),
    "plain": ("kubernetes", "none", TORCHRUN, IN_SPEC),
    "trainjob": ("trainer", "none", TORCHRUN, IN_SPEC),
    "pytorch": ("kubeflow", "volcano", TORCHRUN, IN_POLICY),
    "tensorflow": ("kubeflow", "volcano", {"tensorflow": {"command": ["python", "/app/train.py"]}}, IN_POLICY),
    "mpi": ("kubeflow", "volcano", {"mpi": {"command": ["/app/train"]}}, IN_POLICY),
}
REVIEWED = "jobset"  # before it is suspended
OF_TEST = pytest.mark.shows("a job is suspended and resumed in place")
OF_PROOF = pytest.mark.proof("suspended jobs of the other operators")


@pytest.mark.parametrize("name", [pytest.param(name, marks=OF_TEST if name == REVIEWED else OF_PROOF) for name in JOBS])
def test_a_job_is_suspended_and_resumed_in_place(name: str, addons_project: Project, addons_live: Live) -> None:
    project, live = addons_project, addons_live
    backend, admission, launcher, path = JOBS[name]
    project.environment(admission=admission)
    project.experiment(
        name,
        {
            "backend": backend,
            "image": "registry.example.com/ai/pytorch-training:latest",
            "launcher": launcher,
            "roles": {"worker": {"replicas": 2, "cpu": 1, "memory": "1Gi"}},
        },
    )
    stack, rendered = project.stack(name), project.rendered(name)
    only = [("update", f"{name}-job", (path,))]

    def identity() -> tuple[str, str]:
        """Fails the test if there is another job than this one."""
        (job,) = live.find_like(job_body(rendered.manifests))
        return job["metadata"]["name"], job["metadata"]["uid"]

    if rendered.plan.ssh is not None:
        project.ssh_secret(stack).succeeded()
    project.up(stack)
    as_planned(live, rendered.plan)
    before = identity()

    project.trainform("suspend", stack).succeeded()
    if name == REVIEWED:
        report = project.review(stack).report
        assert report["headline"].startswith(f"Suspends the running job {rendered.plan.job} (2 pods")
        assert [finding["code"] for finding in report["findings"]] == ["TR-RESTART-7"]
    assert [(step.op, step.name, step.paths) for step in project.applied(stack)] == only
    until(lambda: not live.find_all("pods", project.namespace), "the pods of the suspended job to go")
    assert identity() == before

    project.trainform("resume", stack).succeeded()
    assert [(step.op, step.name, step.paths) for step in project.applied(stack)] == only
    as_planned(live, rendered.plan)
    assert identity() == before
    project.unchanged(stack)
