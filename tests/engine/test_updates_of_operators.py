"""What changes in place on the operators beside Volcano, and what other controllers write into our objects and no
preview shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.kueue import KUEUE, held_queue, stop
from tests.engine.live import Live, until
from tests.engine.pods import as_planned, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import RECORD, Project
from trainform.manifests.manifest import job_body

pytestmark = pytest.mark.proof("changes in place on every operator, and Kueue")

OVERRIDES = 'metadata.annotations["trainform.dev/overrides"]'  # comes and goes with `manifest_overrides`


def sweep(backend: str, replicas: int = 2, **parts: Any) -> dict[str, Any]:
    """Return an experiment on this operator."""
    return {
        "backend": backend,
        "image": "registry.example.com/ai/pytorch-training:latest",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": replicas, "cpu": 1, "memory": "1Gi"}},
        **parts,
    }


def suspended(backend: str, spec: dict[str, Any]) -> dict[str, Any]:
    """With what suspends its job in the job's spec."""
    return sweep(backend, manifest_overrides={"job": {"spec": spec}})


def elastic(replicas: int) -> dict[str, Any]:
    launcher = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    return sweep("kubeflow", replicas, launcher=launcher)


SUSPENDED = {
    "kubeflow": suspended("kubeflow", {"runPolicy": {"suspend": True}}),
    "trainer": suspended("trainer", {"suspend": True}),
    "jobset": suspended("jobset", {"suspend": True}),
    "kubernetes": suspended("kubernetes", {"suspend": True}),
}
# Each experiment, and what it becomes, one after the other.
STAGES = {
    **{backend: (sweep(backend), changed, sweep(backend)) for backend, changed in SUSPENDED.items()},
    "elastic": (elastic(3), elastic(5), elastic(2)),
    "ttl": tuple(sweep("jobset", ttl=ttl) for ttl in ("1h", "2h", "3h")),
    "plain-ttl": tuple(sweep("kubernetes", ttl=ttl) for ttl in ("1h", "2h", "3h")),
}
# What an update of each changes, and nothing else.
PATHS = {
    "kubeflow": (OVERRIDES, "spec.runPolicy.suspend"),
    "trainer": (OVERRIDES, "spec.suspend"),
    "jobset": (OVERRIDES, "spec.suspend"),
    "kubernetes": (OVERRIDES, "spec.suspend"),
    "elastic": ("spec.pytorchReplicaSpecs.Worker.replicas",),
    "ttl": ("spec.ttlSecondsAfterFinished",),
    "plain-ttl": ("spec.ttlSecondsAfterFinished",),
}


def write(project: Project, experiments: dict[str, dict[str, Any]]) -> None:
    for name, data in experiments.items():
        project.experiment(name, data)


def job(live: Live, project: Project, name: str) -> dict[str, Any]:
    """Return the job object of an experiment as it is now."""
    body = job_body(project.rendered(name).manifests)
    return next(each for each in live.find_like(body) if each["metadata"]["name"] == body["metadata"]["name"])


def experiments_with_pods(live: Live, project: Project) -> set[str]:
    return {pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in live.find_all("pods", project.namespace)}


def test_suspend_elastic_replicas_and_ttl_change_in_place(addons_project: Project, addons_live: Live) -> None:
    project, live = addons_project, addons_live

    def identities() -> list[str]:
        """One that is made anew has another."""
        return [job(live, project, name)["metadata"]["uid"] for name in first]

    first, second, third = ({name: stages[number] for name, stages in STAGES.items()} for number in range(3))
    write(project, first)
    stack = stack_of(project, "all", list(STAGES))
    project.up(stack)
    for name in STAGES:
        as_planned(live, project.plan(name))
    made = identities()
    updates = {("update", f"{name}-job", tuple(sorted(paths))) for name, paths in PATHS.items()}
    updates |= {("update", f"{name}-deployed", (RECORD,)) for name in STAGES}

    write(project, second)
    assert {(step.op, step.name, step.paths) for step in project.applied(stack)} == updates
    until(
        lambda: experiments_with_pods(live, project) == {"elastic", "ttl", "plain-ttl"}, "pods of suspended jobs to go"
    )
    assert len(pods_of(live, project.plan("elastic"))) == 5
    for name in ("ttl", "plain-ttl"):
        assert job(live, project, name)["spec"]["ttlSecondsAfterFinished"] == 7200

    write(project, third)
    assert {(step.op, step.name, step.paths) for step in project.applied(stack)} == updates
    for name in SUSPENDED:
        as_planned(live, project.plan(name))
    assert len(pods_of(live, project.plan("elastic"))) == 2
    assert identities() == made
    project.unchanged(stack)


@pytest.fixture
def queue(addons_project: Project, addons_live: Live) -> Iterator[str]:
    with held_queue(addons_live, addons_project.namespace) as name:
        yield name


def on_kueue(**parts: Any) -> dict[str, dict[str, Any]]:
    """Return an experiment on each operator that Kueue holds back."""
    return {backend: sweep(backend, **parts) for backend in ("jobset", "trainer", "kubernetes")}


def test_what_kueue_writes_is_no_change(addons_project: Project, addons_live: Live, queue: str) -> None:
    """Kueue suspends the job, lets it go on when there is room, and writes a patch of its own into a TrainJob.

    The LocalQueue must be there: Kueue would wait for it without a word.
    """
    project, live = addons_project, addons_live
    project.environment(admission="kueue")
    write(project, on_kueue(queue="night"))
    stack = stack_of(project, "all", list(on_kueue()))
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"the LocalQueue night does not exist in {project.namespace}" in " ".join(output.split())

    write(project, on_kueue(queue="team"))
    project.up(stack)

    def specs() -> list[dict[str, Any]]:
        return [job(live, project, backend)["spec"] for backend in on_kueue()]

    assert [spec["suspend"] for spec in specs()] == [True] * 3
    assert live.find_all("pods", project.namespace) == []
    project.unchanged(stack)

    stop(live, queue, "None")
    for name in on_kueue():
        as_planned(live, project.plan(name))
    running = specs()
    assert [spec["suspend"] for spec in running] == [False] * 3
    older = live.request("GET", f"{KUEUE.replace('beta2', 'beta1')}/clusterqueues/{queue}").json()
    assert older["apiVersion"] == "kueue.x-k8s.io/v1beta1", "by Kueue's conversion"

    write(project, on_kueue(queue="team", labels={"team": "vision"}))
    steps = {(step.op, step.name, step.paths) for step in project.applied(stack)}
    assert steps == {
        ("update", f"{name}-{key}", (path,))
        for name in on_kueue()
        for key, path in (("job", "metadata.labels.team"), ("deployed", RECORD))
    }
    assert specs() == running
    for name in on_kueue():
        as_planned(live, project.plan(name))


def test_another_operator_replaces_the_running_job(addons_project: Project, addons_live: Live) -> None:
    """The old job is deleted before the new one is created: both would write the same checkpoints."""
    project, live = addons_project, addons_live
    runs = {"runs": {"size": "1Gi", "mount": "/runs"}}
    write(project, {"moved": sweep("volcano", storage=runs)})
    stack = project.stack("moved")
    project.up(stack)
    old = project.plan("moved")
    as_planned(live, old)

    write(project, {"moved": sweep("kubeflow", storage=runs)})
    report = project.review(stack).report
    assert report["headline"].startswith(f"Replaces the running job {old.job} (2 pods"), report["headline"]
    assert "because `backend` changes; data stays in moved-runs" in report["headline"]
    assert "TR-RESTART-1" in [finding["code"] for finding in report["findings"]]
    steps = project.applied(stack, whole=False)
    assert "PersistentVolumeClaim" not in {step.kind for step in steps}
    assert [(step.op, step.kind) for step in steps if step.name == "moved-job" and step.op != "replace"] == [
        ("delete-replaced", "Job"),
        ("create-replacement", "PyTorchJob"),
    ]
    as_planned(live, project.plan("moved"))
    project.unchanged(stack)
