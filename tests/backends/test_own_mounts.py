"""Nothing else is mounted where an operator mounts files of its own: the API server would take none of the pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment
from trainform import defaults
from trainform.backends.table import BACKENDS
from trainform.objects import draft_plan, job_manifests

COMMAND: dict[str, Any] = {"roles": {"master": {}, "worker": {"replicas": 2}}}
MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
CLUSTER = environment()


def added(backend: str, parts: dict[str, Any]) -> set[tuple[str, str]]:
    """Role and path of each mount that the operator's controller adds to the pods."""
    plan = draft_plan(experiment(backend=backend, **parts), CLUSTER)
    manifests = job_manifests(plan)
    rendered = {
        (template.role, mount["mountPath"])
        for template in BACKENDS[backend].templates(plan, manifests)
        for _, container in template.named_containers()
        for mount in container.get("volumeMounts", [])
    }
    pods, _ = BACKENDS[backend].pods(plan, manifests)
    made = {
        (pod["metadata"]["labels"][defaults.ROLE_LABEL], mount["mountPath"])
        for pod in pods
        for container in pod["spec"]["containers"]
        for mount in container.get("volumeMounts", [])
    }
    return made - rendered


def at(path: str, role: str, parts: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The ways to mount something there in pods of the role: the field that a problem names, and the experiment."""
    git = {"repository": "https://github.com/org/code.git", "commit": "0123456789abcdef" * 2 + "01234567", "path": path}
    spec = {
        "volumes": {"mine": {"emptyDir": {}}},
        "containers": {"main": {"volumeMounts": {"mine": {"mountPath": path}}}},
    }
    patched = {**parts["roles"], role: {**parts["roles"][role], "pod_overrides": {"spec": spec}}}
    return [
        ("storage.mine.mount", {"storage": {"mine": {"claim": "mine", "mount": path}}}),
        ("prepare[0].git.path", {"prepare": [{"name": "code", "git": git, "roles": [role]}]}),
        (f"roles.{role}.pod_overrides.spec.containers.main.volumeMounts.mine", {"roles": patched}),
    ]


@pytest.mark.parametrize("parts", [COMMAND, MPI], ids=["command", "mpi"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_mounted_where_the_operator_mounts_its_own_files(backend: str, parts: dict[str, Any]) -> None:
    if job_problems(experiment(backend=backend, **parts), CLUSTER):
        return  # the operator has no such job
    for role, path in added(backend, parts):
        for field, more in at(path, role, parts):
            found = {
                problem.path: problem.reason
                for problem in job_problems(experiment(backend=backend, **{**parts, **more}), CLUSTER)
            }
            assert found == {field: "the operator mounts its own files at this path"}, (path, role)


def test_operators_that_mount_files_of_their_own() -> None:
    kubeflow = {("launcher", "/etc/mpi"), ("launcher", "/opt/kube"), ("worker", "/etc/mpi")}
    trainer = {("launcher", "/etc/mpi"), ("launcher", "/etc/mpi-ssh"), ("worker", "/etc/mpi-ssh")}
    assert {backend: added(backend, MPI) for backend in ("jobset", "trainer", "kubeflow")} == {
        "jobset": set(),
        "trainer": trainer,
        "kubeflow": kubeflow,
    }
    assert {path for _, path in added("volcano", COMMAND)} == {"/etc/volcano"}


def test_another_path_below_the_operators() -> None:
    """The kubelet makes folders for mounts in a ConfigMap's files."""
    storage = {"mine": {"claim": "mine", "mount": "/etc/volcano/mine"}}
    assert job_problems(experiment(storage=storage), CLUSTER) == []


def test_a_patch_of_a_whole_object() -> None:
    spec = {
        "volumes": {"mine": {"emptyDir": {}}},
        "containers": {"log": {"image": "registry.example.com/ai/log:1", "volumeMounts": [{"name": "mine", "mountPath": "/etc/volcano"}]}},
    }  # fmt: skip
    patch = {"job": {"spec": {"tasks": {"worker": {"template": {"spec": spec}}}}}}
    (problem,) = job_problems(experiment(manifest_overrides=patch), CLUSTER)
    assert problem.path == "manifest_overrides.job"
    assert problem.value == "/etc/volcano"
