"""One role of several pods whose first pod launches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, plan
from trainform.backends.backend import BACKENDS
from trainform.job.render import render_job
from trainform.plan.inputs import job_inputs

NODES: dict[str, Any] = {"replicas": 4, "accelerators": {"a800": 8}, "env": {"NCCL_DEBUG": "INFO"}}
MPI: dict[str, Any] = {"mpi": {"command": ["python", "/app/train.py"]}}
ONE: dict[str, Any] = {"launcher": MPI, "roles": {"worker": NODES}}


@pytest.mark.parametrize("launcher", [MPI, {"deepspeed": {"script": "/app/train.py"}}])
@pytest.mark.parametrize(
    "backend", [name for name, made in BACKENDS.items() if made.SPLITS_LAUNCHER and name != "kubedl"]
)
def test_the_first_pod_launches_and_the_others_serve(backend: str, launcher: dict[str, Any]) -> None:
    made = plan(launcher=launcher, roles={"worker": NODES}, backend=backend)
    assert [(role.name, role.replicas, role.min_available) for role in made.roles] == [
        ("launcher", 1, 1),
        ("worker", 3, 3),
    ]
    assert [role.command[-1] for role in made.roles] == ["/etc/trainform/launch.sh", "/etc/trainform/serve.sh"]
    assert [role.rank(0) for role in made.roles] == [0, 1]
    assert (made.world.processes, made.totals.accelerators, made.ending_role) == (32, {"a800": 32}, "launcher")


def test_it_is_the_same_job_as_with_two_roles() -> None:
    """And the user's words stay: what is deployed, and what a preview names."""
    split = render_job(experiment(**ONE), environment())
    two = {"launcher": {**NODES, "replicas": 1}, "worker": {**NODES, "replicas": 3}}
    written = render_job(experiment(launcher=MPI, roles=two), environment())
    bodies = [[each.body for each in job.manifests if not each.is_record] for job in (split, written)]
    assert bodies[0] == bodies[1]
    (record,) = (each.body["data"] for each in split.manifests if each.is_record)
    assert {name: role["replicas"] for name, role in json.loads(record["experiment"])["roles"].items()} == {"worker": 4}
    assert job_inputs(split.experiment, split.environment, split.plan).roles.keys() == {"worker"}
    assert {each.origin for role in split.plan.roles for each in role.env if each.name == "NCCL_DEBUG"} == {
        "roles.worker.env.NCCL_DEBUG"
    }


def test_lists_of_roles_mean_all_of_its_pods() -> None:
    lists: dict[str, Any] = {
        "storage": {"data": {"claim": "imagenet", "mount": "/mnt", "roles": ["worker"]}},
        "prepare": [{"name": "warm", "command": ["true"], "on": "each-pod", "roles": ["worker"]}],
        "ssh": {"roles": ["worker"]},
    }
    made = plan(**ONE, **lists)
    assert [len(role.mounts) for role in made.roles] == [len(role.init) for role in made.roles] == [1, 1]
    assert made.ssh is not None
    assert made.ssh.roles == ("launcher", "worker")


@pytest.mark.parametrize(
    ("role", "problem"),
    [
        ({"command": ["sh"]}, ("roles.worker.command", None)),
        ({"min_available": 3}, ("roles.worker.min_available", 3)),
        ({"min_available": 5}, ("roles.worker.min_available", 5)),
        ({"accelerators": {"h100": 8}}, ("roles.worker.accelerators.h100", "h100")),
        ({"pod_overrides": {"spec": {"subdomain": "x"}}}, ("roles.worker.pod_overrides.spec.subdomain", None)),
    ],
)
def test_a_problem_is_at_the_role_of_the_file(role: dict[str, Any], problem: tuple[str, object]) -> None:
    found = job_problems(experiment(launcher=MPI, roles={"worker": {**NODES, **role}}), environment())
    assert {(each.path, each.value) for each in found} == {problem}
