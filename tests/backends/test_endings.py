"""What ends a job while pods of it still run; a note says if nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.trainer.samples import MPI, ON_MPI, TORCH, plan_on, told_on, with_spec
from tests.support.samples import WITH_EXTRAS, plan

COMMAND = ["python", "train.py"]
HOST = {"host": True}
PER_REPLICA = {**HOST, "ports": "per-replica"}
LAUNCHER: dict[str, Any] = {
    "launcher": {"mpi": {"command": COMMAND, "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}},
}
MNIST: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": COMMAND}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}},
}
CHIEF = {**MNIST, "roles": {"chief": {}, **MNIST["roles"]}}
MASTER: dict[str, Any] = {"roles": {"master": {}, "worker": {"replicas": 3}}}
ELASTIC: dict[str, Any] = {
    "launcher": {"torchrun": {"script": "train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}
}
DEEPSPEED = {**LAUNCHER, "launcher": {"deepspeed": {"script": "train.py", "role": "launcher"}}}


def role_policy(event: str, action: str, role: str = "launcher") -> dict[str, Any]:
    roles = {**LAUNCHER["roles"]}
    roles[role] = {**roles[role], "policies": [{"event": event, "action": action}]}
    return {**LAUNCHER, "roles": roles}


ENDS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("volcano", LAUNCHER, ["the role launcher"]),
    ("volcano", MNIST, ["the role worker"]),
    ("volcano", {**MNIST, "network": PER_REPLICA}, ["the role worker"]),
    ("volcano", {**CHIEF, "network": PER_REPLICA}, ["the role chief"]),
    ("volcano", MASTER, []),
    ("volcano", {"roles": WITH_EXTRAS}, ["the role master"]),
    ("volcano", {**LAUNCHER, "policies": [{"event": "PodEvicted", "action": "RestartJob"}]}, ["the role launcher"]),
    ("volcano", role_policy("PodFailed", "RestartJob"), ["the role launcher"]),
    ("volcano", role_policy("TaskCompleted", "AbortJob"), ["the role launcher"]),
    ("volcano", role_policy("*", "CompleteJob"), ["the role launcher"]),
    ("volcano", role_policy("TaskCompleted", "CompleteJob", "worker"), ["the role launcher", "the role worker"]),
    ("volcano", {**LAUNCHER, "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}]},
     ["the role launcher", "the role worker"]),
    ("jobset", LAUNCHER, ["the role launcher"]),
    ("jobset", {**MNIST, "network": PER_REPLICA}, ["the role worker"]),
    ("jobset", MASTER, []),
    ("trainer", LAUNCHER, ["the role launcher"]),
    ("trainer", {**MNIST, "network": PER_REPLICA}, ["the role worker"]),
    ("kubeflow", MASTER, ["the role master"]),
    ("kubeflow", {"roles": {"worker": {"replicas": 3}}}, []),
    ("kubeflow", {**ELASTIC, "roles": {"worker": {"replicas": 3}}}, ["the first pod of the role worker that succeeds"]),
    ("kubeflow", DEEPSPEED, ["the role launcher"]),
    ("kubeflow", LAUNCHER, ["the role launcher"]),
    ("kubeflow", MNIST, ["the role worker"]),
    ("kubeflow", CHIEF, ["the role chief"]),
    ("kubedl", MASTER, []),
    ("kubedl", MNIST, ["the role worker"]),
    ("kubedl", CHIEF, ["the role chief"]),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "parts", "pods"), ENDS)
def test_what_ends_a_job(backend: str, parts: dict[str, Any], pods: list[str]) -> None:
    found = plan(backend=backend, **parts)
    assert [ending.pods for ending in found.ends_with] == pods


NOTHING: list[tuple[str, dict[str, Any], str]] = [
    ("volcano", {**LAUNCHER, "policies": []}, "launcher"),
    ("volcano", role_policy("TaskCompleted", "RestartJob"), "launcher"),
    ("volcano", role_policy("*", "RestartJob"), "launcher"),
    ("volcano", {**LAUNCHER, "policies": [{"event": "*", "action": "RestartJob"}]}, "launcher"),
]


@pytest.mark.parametrize(("backend", "parts", "role"), NOTHING)
def test_a_note_if_the_ending_role_does_not_end_the_job(backend: str, parts: dict[str, Any], role: str) -> None:
    found = plan(backend=backend, **parts)
    (note,) = [text for text in found.notes if text.startswith("nothing ends")]
    assert note.startswith(f"nothing ends this job when the role {role} completes: the pods of ")
    assert not any(role in ending.roles for ending in found.ends_with)


def test_the_note_names_pods_that_run_on_and_their_accelerators() -> None:
    (note,) = [text for text in plan(**LAUNCHER, policies=[]).notes if "nothing ends" in text]
    assert note == (
        "nothing ends this job when the role launcher completes: the pods of worker, with 24 a800, run until they "
        "end by themselves, or until the job is deleted; remove the policy that replaces the plan's policy"
    )
    (note,) = [text for text in plan(**CHIEF, policies=[]).notes if "nothing ends" in text]
    assert "completes: the pods of ps and worker run until" in note


def test_no_note_if_no_other_pod_is_left() -> None:
    watcher = {"replicas": 0, "ranked": False, "command": COMMAND}
    for backend in ("volcano", "jobset", "trainer"):
        parts: dict[str, Any] = {"policies": []} if backend == "volcano" else {}
        found = plan(backend=backend, roles={"worker": {"replicas": 2}, "watcher": watcher}, **parts)
        assert not any("nothing ends" in note for note in found.notes)
    assert not any("nothing ends" in note for note in plan(policies=[]).notes), "every pod ends by itself"


def test_a_runtime_that_is_named_ends_the_job_as_it_says() -> None:
    def ends(content: dict[str, Any] | None, **parts: Any) -> list[str]:
        return [ending.pods for ending in plan_on(content, **parts).ends_with]

    assert ends(MPI, **ON_MPI) == ["the role launcher"]
    assert ends(None, **ON_MPI) == ["the role launcher, if the ClusterTrainingRuntime shared says so"]
    assert ends(TORCH) == ends(None) == []
    for policy in (None, {"operator": "All", "targetReplicatedJobs": ["node"]}):
        (note,) = told_on(with_spec(MPI, {"template": {"spec": {"successPolicy": policy}}}), **ON_MPI)
        assert "template.spec.successPolicy does not end the job when `launcher` has succeeded" in note


def patched(key: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {**DEEPSPEED, "manifest_overrides": {key: {"spec": spec}}}


ALL: dict[str, Any] = {"operator": "All", "targetReplicatedJobs": ["worker"]}
AGAIN = [{"event": "PodFailed", "action": "RestartJob"}]


@pytest.mark.parametrize(
    ("backend", "parts", "field"),
    [
        ("jobset", patched("job", {"successPolicy": None}), "job.spec.successPolicy"),
        ("jobset", patched("job", {"successPolicy": ALL}), "job.spec.successPolicy"),
        ("volcano", patched("job", {"policies": AGAIN}), "job.spec.policies"),
        ("volcano", patched("job", {"tasks": {"launcher": {"policies": None}}}), "job.spec.tasks.launcher.policies"),
        ("volcano", patched("job", {"minSuccess": 3}), "job.spec.minSuccess"),
    ],
)
def test_the_plan_shows_no_end_that_a_patch_decides(backend: str, parts: dict[str, Any], field: str) -> None:
    found = plan(backend=backend, **parts)
    assert found.ends_with == ()
    (note,) = [text for text in found.notes if "decides whether this job ends" in text]
    assert note.startswith(f"manifest_overrides.{field}: the patch decides")
    assert "the pods of worker, with 24 a800, run until" in note
