"""Security contexts of patches with which no pod reaches another one over SSH."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment

SSH: dict[str, Any] = {"launcher": {"deepspeed": {"script": "/t.py"}}, "shared_memory": "1Gi"}
ALICE = {"user": 1000, "home": "/home/alice"}


def parts(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**SSH, "roles": {"master": {}, "worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}, **more}


def of_pod(**context: Any) -> dict[str, Any]:
    return {"securityContext": context}


def of_main(**context: Any) -> dict[str, Any]:
    return {"containers": {"main": {"securityContext": context}}}


@pytest.mark.parametrize(
    ("spec", "run_as", "field"),
    [
        (of_pod(fsGroup=1000), None, "securityContext.fsGroup"),
        (of_pod(fsGroup=0), {"user": 0, "home": "/root"}, "securityContext.fsGroup"),
        (of_pod(fsGroup=2000), ALICE, None),
        (of_pod(fsGroup=None), ALICE, "securityContext.fsGroup"),
        (of_pod(runAsUser=1000), None, "securityContext.runAsUser"),
        (of_main(runAsUser=1000), None, "containers.main.securityContext.runAsUser"),
        (of_main(runAsUser=0, runAsNonRoot=False), ALICE, "containers.main.securityContext.runAsUser"),
        (of_main(runAsUser=1000), ALICE, None),
        (of_main(runAsUser=0), None, None),
        (of_pod(runAsGroup=1000), None, None),
    ],
)
@pytest.mark.parametrize("backend", ["volcano", "jobset"])
def test_who_can_use_the_keys(
    spec: dict[str, Any], run_as: dict[str, Any] | None, field: str | None, backend: str
) -> None:
    found = job_problems(experiment(**parts(spec, run_as=run_as, backend=backend)), environment())
    assert [each.path for each in found] == ([] if field is None else [f"roles.worker.pod_overrides.spec.{field}"])
    assert all("SSH keys" in each.reason and "run_as" in str(each.fix) for each in found)


def test_pods_without_ssh_run_as_they_like() -> None:
    torchrun = {"launcher": {"torchrun": {"script": "/t.py"}}}
    for spec in (of_pod(fsGroup=1000), of_main(runAsUser=1000)):
        assert job_problems(experiment(**parts(spec, **torchrun)), environment()) == []
