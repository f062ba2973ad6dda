"""Runtimes of Trainer's as a platform team has them, and jobs on them; a test says only what differs."""

from __future__ import annotations

from typing import Any

from tests.support.rendering import job_problems, plan_job
from tests.support.samples import environment, experiment
from trainform.plan.model import Plan
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
IMAGE = "registry.example.com/ai/mpi:4"


def replicated(name: str, labelled: bool, image: str = IMAGE) -> dict[str, Any]:
    metadata = {"metadata": {"labels": {ANCESTOR: "trainer"}}} if labelled else {}
    spec = {"schedulerName": "volcano", "containers": [{"name": "node", "image": image}]}
    return {"name": name, "replicas": 1, "template": {**metadata, "spec": {"template": {"spec": spec}}}}


def runtime(policy: dict[str, Any], *jobs: dict[str, Any]) -> dict[str, Any]:
    success = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "shared"},
        "spec": {
            "mlPolicy": {"numNodes": 1, **policy},
            "podGroupPolicy": {"volcano": {}},
            "template": {
                "spec": {"replicatedJobs": [*jobs], **({"successPolicy": success} if "mpi" in policy else {})}
            },
        },
    }


TORCH = runtime({"torch": {}}, replicated("node", True))
KEYS = {"sshAuthMountPath": "/home/mpiuser/.ssh"}


def of_mpi(policy: dict[str, Any]) -> dict[str, Any]:
    """A runtime of MPI whose pods run as another user than root, as Trainer's own does."""
    made = runtime({"mpi": {**KEYS, **policy}}, replicated("node", False), replicated("launcher", True))
    user = {"securityContext": {"runAsUser": 1000, "fsGroup": 1000}}
    return with_pods(with_pods(made, user), user, "launcher")


MPI_ROLES = {"launcher": {}, "worker": {"replicas": 3}}
ON_MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["./train"], "role": "launcher"}},
    "roles": MPI_ROLES,
    "image": IMAGE,
}


def with_jobs(content: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The runtime with its replicated jobs changed, by name."""
    found: dict[str, Any] = merge_patch(content, {"spec": {"template": {"spec": {"replicatedJobs": patch}}}})
    return found


def with_pods(content: dict[str, Any], patch: dict[str, Any], name: str = "node") -> dict[str, Any]:
    """The runtime with the pods of a replicated job changed."""
    return with_jobs(content, {name: {"template": {"spec": {"template": {"spec": patch}}}}})


def with_spec(content: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The runtime with its spec changed."""
    found: dict[str, Any] = merge_patch(content, {"spec": patch})
    return found


MPI = of_mpi({"runLauncherAsNode": True})
MPI_APART = of_mpi({})


def on(content: dict[str, Any] | None, **parts: Any) -> Experiment:
    """An experiment on a runtime that is named; None: only the cluster has it."""
    made = experiment(backend="trainer", **{"runtime": {"name": "shared"}, **parts})
    assert made.runtime is not None
    return made if content is None else made.model_copy(update={"runtime": made.runtime.attach_content(content)})


def plan_on(content: dict[str, Any] | None, **parts: Any) -> Plan:
    return plan_job(on(content, **parts), environment())


def told_on(content: dict[str, Any] | None, **parts: Any) -> list[str]:
    """Every problem in full."""
    return [str(problem) for problem in job_problems(on(content, **parts), environment())]
