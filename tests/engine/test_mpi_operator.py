"""MPIJob v2beta1 on the real mpi-operator: its gang, its pods, its end, and a cluster with the other version."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.kubelet import succeeds
from tests.engine.live import Live, until
from tests.engine.pods import as_planned, hostname, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project

pytestmark = pytest.mark.proof("another operator, which has no webhook")

MPI: dict[str, Any] = {
    "image": "registry.example.com/ai/nccl-tests:latest",
    "backend": "kubeflow",
    "launcher": {"mpi": {"command": ["/app/train"]}},
}
JOBS: dict[str, dict[str, Any]] = {
    "one-role": {**MPI, "roles": {"worker": {"replicas": 3}}},
    "apart": {
        **MPI,
        "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
        "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
    },
    "alone": {**MPI, "roles": {"worker": {}}},
}


def test_gang_pods_and_end(addons_project: Project, addons_live: Live) -> None:
    for name, data in JOBS.items():
        addons_project.experiment(name, data)
    stack = stack_of(addons_project, "mpi", list(JOBS))
    addons_project.up(stack)
    plans = {name: addons_project.plan(name) for name in JOBS}
    for plan in plans.values():
        as_planned(addons_live, plan)
        group = addons_live.get("podgroups", plan.job, plan.namespace)
        assert group["spec"]["minMember"] == plan.totals.pods
        service = addons_live.get("services", plan.job, plan.namespace)
        assert service["spec"].get("publishNotReadyAddresses", False) == plan.roles[0].ranked
        for pod in pods_of(addons_live, plan).values():
            mounts = [mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]]
            assert len(mounts) == len({*mounts}), "the operator's Secret has its own folder"
            assert {"/root/.ssh", "/etc/mpi-ssh"} <= {*mounts}
    addons_project.unchanged(stack)

    for plan in plans.values():
        launcher = pods_of(addons_live, plan)[f"{plan.job}-launcher"]
        succeeds(addons_live, launcher)

    def left() -> bool:
        pods = addons_live.find_all("pods", addons_project.namespace)
        return {hostname(pod) for pod in pods} == {f"{plan.job}-launcher" for plan in plans.values()}

    until(left, "the workers to go, and the launchers with their logs to stay")
    addons_project.unchanged(stack)


def test_the_preflight_names_the_version_of_the_cluster(addons_project: Project) -> None:
    addons_project.environment(mpi_job="v1")
    addons_project.experiment("first", JOBS["apart"])
    output = addons_project.pulumi("preview", "-s", stack_of(addons_project, "first", ["first"])).failed()
    assert "serves mpijobs.kubeflow.org as v2beta1, and this job is kubeflow.org/v1" in output
    assert "write `mpi_job: v2beta1` in the environment" in output
