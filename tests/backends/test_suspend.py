"""`trainform:suspend` is a field of the job object, or it is refused with the command that suspends the job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, experiment, fitting
from trainform.backends.backend import BACKENDS, value_at
from trainform.backends.suspend import NOTE
from trainform.cluster.phases import is_suspended
from trainform.job.check import CheckedJob, suspend
from trainform.job.render import render_job
from trainform.manifests.manifest import job_body
from trainform.spec.environment import Environment

PATHS = {
    "jobset": "spec.suspend",
    "kubeflow": "spec.runPolicy.suspend",
    "kubernetes": "spec.suspend",
    "trainer": "spec.suspend",
}
TORCHRUN: dict[str, Any] = {"torchrun": {"script": "/app/train.py"}}
TENSORFLOW: dict[str, Any] = {"tensorflow": {"command": ["python", "/app/train.py"]}}
MPI: dict[str, Any] = {"mpi": {"command": ["/app/train"]}}


def rendered(backend: str, cluster: Environment, launcher: dict[str, Any] = TORCHRUN) -> CheckedJob:
    master = {"master": {"replicas": 1}} if backend == "kubedl" else {}
    roles = fitting(backend, {**master, "worker": {"replicas": 2, "accelerators": {"l40s": 1}}})
    job = render_job(experiment(backend=backend, launcher=launcher, roles=roles), cluster)
    assert job.problems == ()
    return CheckedJob("sdxl-lora", (), job)


def none(**parts: Any) -> Environment:
    return environment(admission="none", queues={}, **parts)


@pytest.mark.parametrize("admission", ["volcano", "none"])
@pytest.mark.parametrize(
    ("backend", "launcher"),
    [*((backend, TORCHRUN) for backend in PATHS), ("kubeflow", TENSORFLOW), ("kubeflow", MPI)],
)
def test_one_field_of_the_job_changes_and_no_revision(backend: str, launcher: dict[str, Any], admission: str) -> None:
    checked = rendered(backend, environment() if admission == "volcano" else none(), launcher)
    found = suspend(checked)
    before, after = checked.or_raise(), found.or_raise()
    bodies = job_body(before.manifests), job_body(after.manifests)
    assert [is_suspended(body) for body in bodies] == [False, True]
    *above, last = PATHS[backend].split(".")
    assert value_at(bodies[1], ".".join(above)).pop(last) is True
    assert bodies[0] == bodies[1]
    assert [each for each in after.manifests if not each.is_job] == [
        each for each in before.manifests if not each.is_job
    ]
    assert after.plan.revision == before.plan.revision
    assert after.plan.notes[-1] == NOTE
    (job,) = (each for each in after.manifests if each.is_job)
    assert job.controller_owned == (), "the engine would ignore a change of the field"


REFUSED = {
    "volcano": (environment(), TORCHRUN, "vcctl job suspend -N JOB -n ai-namespace"),
    "kubedl": (environment(), TORCHRUN, "use `pulumi destroy` instead"),
    "kubeflow": (environment(mpi_job="v1"), MPI, "write `mpi_job: v2beta1` in the environment"),
    **{
        backend: (
            environment(admission="kueue", queues={}),
            TORCHRUN,
            "use `kubectl kueue stop workload NAME -n ai-namespace` instead",
        )
        for backend in sorted(PATHS.keys() - {"kubeflow"})
    },
}


@pytest.mark.parametrize("backend", REFUSED)
def test_what_cannot_be_suspended_is_refused_with_a_command(backend: str) -> None:
    cluster, launcher, fix = REFUSED[backend]
    checked = rendered(backend, cluster, launcher)
    found = suspend(checked)
    assert found.job == checked.job
    (problem,) = found.problems
    assert (problem.path, problem.value) == ("trainform:suspend", "true")
    assert fix in problem.fix


def test_every_backend_has_a_field_or_another_way() -> None:
    assert {name for name in BACKENDS if BACKENDS[name].SUSPENDED} == PATHS.keys()
