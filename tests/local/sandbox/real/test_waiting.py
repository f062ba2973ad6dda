"""Why a job waits whose pods have a node: what a real kubelet reports of objects, images and containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.local.sandbox.conftest import until
from trainform.job.render import render_job
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.folder import Layout
from trainform.running.model import Reason
from trainform.running.read import read, read_around
from trainform.running.snapshot import Target
from trainform.running.waiting import reasons
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

pytestmark = pytest.mark.proof("what a real kubelet reports of pods that do not start")

PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Job": "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs",
    "Service": "/api/v1/namespaces/default/services",
}
ENVIRONMENT = Environment.model_validate({"name": "dev", "namespace": {"name": "default"}})
NOT_ROOT = {"worker": {"replicas": 1, "pod_overrides": {"spec": {"securityContext": {"runAsNonRoot": True}}}}}
JOB: dict[str, Any] = {
    "roles": {"worker": {"replicas": 1}},
    "image": "trainform-pause:1",
    "launcher": {"command": ["/busybox", "sleep", "60"]},
}


@pytest.mark.parametrize(
    ("name", "parts", "code", "object_"),
    [
        ("env", {"env": {"HF": {"secret": {"name": "hf", "key": "token"}}}}, "object-missing", "Pod/env-"),
        ("mount", {"storage": {"keys": {"secret": "wandb", "mount": "/keys"}}}, "object-missing", "Pod/mount-"),
        ("pull", {"image": "registry.example.com/ai/nowhere:1"}, "image", "Pod/pull-"),
        ("root", {"roles": NOT_ROOT}, "container-refused", "Pod/root-"),
    ],
)
def test_what_the_kubelet_reports(
    name: str, parts: dict[str, Any], code: str, object_: str, api: Api, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(Layout(folder).kubeconfig))
    data = {**JOB, **parts, "name": name}
    made = render_job(Experiment.model_validate(data), ENVIRONMENT)
    assert not made.problems, made.problems
    for manifest in made.manifests:
        api.create(PATHS[manifest.body["kind"]], manifest.body)

    def found() -> tuple[Reason, ...]:
        """The reasons without the facts of the cluster: only the kubelet knows."""
        return reasons(read_around(read(Target(name, ENVIRONMENT), 10.0)))

    seen: list[tuple[Reason, ...]] = []

    def is_reported() -> bool:
        seen.append(found())
        return any(reason.code == code for reason in seen[-1])

    until(is_reported)
    (reason,) = seen[-1]
    assert reason.object.startswith(object_)
    assert reason.fix
