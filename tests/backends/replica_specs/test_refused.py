"""Words and numbers that training-operator and KubeDL would take for others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import reasons

ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "worker": {"replicas": 2}},
}
BACKENDS = ["kubeflow", "kubedl"]


def in_policy(backend: str, **fields: Any) -> dict[str, Any]:
    return {"runPolicy": fields} if backend == "kubeflow" else fields


def of(backend: str, spec: dict[str, Any], **parts: Any) -> set[str]:
    found = reasons(**{"backend": backend, "roles": ROLES, "manifest_overrides": {"job": {"spec": spec}}} | parts)
    return {path.removeprefix("manifest_overrides.job.spec.").removeprefix("runPolicy.") for path in found}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("field", "value"), [("cleanPodPolicy", "Never"), ("activeDeadlineSeconds", 0), ("activeDeadlineSeconds", -1)]
)
def test_what_a_run_policy_does_not_take(backend: str, field: str, value: object) -> None:
    assert of(backend, in_policy(backend, **{field: value})) == {field}


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_of_replicas_and_of_success(backend: str) -> None:
    spec = {"successPolicy": "Any", "tfReplicaSpecs": {"Worker": {"restartPolicy": "Sometimes"}}}
    found = of(backend, spec, **TENSORFLOW)
    assert found == {"successPolicy", "tfReplicaSpecs.Worker.restartPolicy"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_taken(backend: str) -> None:
    for policy in ("All", "Running", "None"):
        assert of(backend, in_policy(backend, cleanPodPolicy=policy, activeDeadlineSeconds=600)) == set()
    assert of(backend, {"successPolicy": ""}, **TENSORFLOW) == set()


def test_a_word_that_an_mpijob_does_not_heed() -> None:
    """Nothing would make the pod anew, and the job would not fail."""
    launcher = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
    roles: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 2}}
    parts: dict[str, Any] = {"launcher": launcher, "backend": "kubeflow"}
    spec = {"mpiReplicaSpecs": {"Worker": {"restartPolicy": "ExitCode"}}}
    found = reasons(**parts, roles=roles, manifest_overrides={"job": {"spec": spec}})
    assert [*found] == ["manifest_overrides.job.spec.mpiReplicaSpecs.Worker.restartPolicy"]
    own = {**roles, "worker": {"replicas": 2, "pod_overrides": {"spec": {"restartPolicy": "ExitCode"}}}}
    assert [*reasons(**parts, roles=own)] == ["roles.worker.pod_overrides.spec.restartPolicy"]
