"""What plans say of extras, and of patches that keep a job from starting or its pods from ending, by operator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, plan
from trainform.spec.environment import Environment

KUEUE = environment(admission="kueue", queues={})
EXTRA: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
IN_GANG = "role watcher: it is in the gang, so the training starts only when there is room for its pod too"
OUT = "; write `roles.watcher.min_available: 0` to start without it"
APART = "; make it an experiment of its own to start without it"
ANEW = "role watcher: a pod that failed is made anew, ever more slowly, also with `restart: never`, since JobSet would end the job for it; let its command end with exit code 0 if it is not to run again"


@pytest.mark.parametrize(
    ("backend", "extra", "told"),
    [
        ("volcano", EXTRA, [f"{IN_GANG}{OUT}"]),
        ("volcano", {**EXTRA, "replicas": 4}, [f"{IN_GANG.replace('its pod', 'its 4 pods')}{OUT}"]),
        ("volcano", {**EXTRA, "min_available": 0}, []),
        ("volcano", {**EXTRA, "min_available": 1}, []),
        ("volcano", {**EXTRA, "replicas": 0}, []),
        ("jobset", EXTRA, [f"{IN_GANG}{OUT}", ANEW]),
        ("jobset", {**EXTRA, "restart": "on-failure"}, [f"{IN_GANG}{OUT}"]),
        ("trainer", EXTRA, [f"{IN_GANG}{APART}", ANEW]),
    ],
)
def test_extras_and_the_gang(backend: str, extra: dict[str, Any], told: list[str]) -> None:
    made = plan(backend=backend, roles={**ROLES, "watcher": extra})
    assert [note for note in made.notes if note.startswith("role watcher")] == told


def test_kueue_admits_extras_too() -> None:
    made = plan(cluster=KUEUE, backend="jobset", queue="research", roles={**ROLES, "watcher": EXTRA})
    assert f"{IN_GANG}{APART}" in made.notes


def test_the_pod_that_launches_is_no_extra() -> None:
    roles = {"launcher": {"ranked": False}, "worker": {"replicas": 3}}
    made = plan(launcher={"mpi": {"command": ["/app/train"], "role": "launcher"}}, roles=roles)
    assert not [note for note in made.notes if "gang" in note]


def suspended(backend: str, cluster: Environment | None = None, **parts: Any) -> list[str]:
    spec = {"runPolicy": {"suspend": True}} if backend == "kubeflow" else {"suspend": True}
    made = plan(cluster=cluster, backend=backend, manifest_overrides={"job": {"spec": spec}}, **parts)
    return [note for note in made.notes if "suspend" in note]


@pytest.mark.parametrize(
    ("backend", "path"),
    [("kubeflow", "spec.runPolicy.suspend"), ("jobset", "spec.suspend"), ("trainer", "spec.suspend")],
)
def test_a_job_that_is_suspended(backend: str, path: str) -> None:
    told = [
        f"manifest_overrides.job.{path}: the job is suspended, and no pod starts as long as this is true; remove it to let the job start"
    ]
    assert suspended(backend, roles=ROLES if backend == "kubeflow" else {"node": {"replicas": 2}}) == told


def test_kueue_lets_a_job_go_on_that_was_suspended() -> None:
    assert suspended("jobset", KUEUE, queue="research", roles=ROLES) == []


LEFT = "manifest_overrides.job.spec."
ENDLESS = "nothing ends this job when the role chief completes"
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "worker": {"replicas": 2}},
}


@pytest.mark.parametrize(
    ("backend", "policy", "left"),
    [
        ("kubeflow", "Running", False),
        ("kubeflow", "All", False),
        ("kubeflow", "None", True),
        ("kubeflow", None, True),
        ("kubedl", "Running", False),
        ("kubedl", "None", True),
        ("kubedl", None, False),  # KubeDL's default for a TFJob
    ],
)
def test_pods_that_run_on_when_the_job_has_ended(backend: str, policy: str | None, left: bool) -> None:
    fields = {"cleanPodPolicy": policy}
    spec = {"runPolicy": fields} if backend == "kubeflow" else fields
    made = plan(backend=backend, manifest_overrides={"job": {"spec": spec}}, **TENSORFLOW)
    assert (made.ends_with == ()) == left
    told = [note for note in made.notes if note.startswith((LEFT, ENDLESS))]
    assert [note.startswith(LEFT) for note in told] == ([True, False] if left else [])


def test_the_default_of_a_pytorch_job_on_kubedl() -> None:
    made = plan(backend="kubedl", roles=ROLES, manifest_overrides={"job": {"spec": {"cleanPodPolicy": None}}})
    assert [note for note in made.notes if note.startswith(LEFT)]
