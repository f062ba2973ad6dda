"""Wrong patches of pods are refused before anything is registered: by `check`, or by the preflight's dry runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.engine.conftest import own_namespace
from tests.engine.live import Live
from tests.engine.wrong_patches import ACCEPTED, WRONG
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster import dry_run
from trainform.cluster.api import ClusterApi
from trainform.cluster.outcome import StackContext
from trainform.job.render import render_job
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

pytestmark = pytest.mark.proof("67 wrong patches on Volcano and JobSet")

STORAGE = {"data": {"claim": "datasets", "mount": "/data"}}


@pytest.fixture
def environment(
    addons_live: Live, addons_exports: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Environment]:
    """Return an environment that allows everything, on the cluster with every operator."""
    monkeypatch.setenv("KUBECONFIG", addons_exports["KUBECONFIG"])
    for namespace in own_namespace(addons_live):
        limits = {"host_network": True, "pod_security": "privileged"}
        offered = {"name": "dev", "namespace": {"name": namespace}, "limits": limits}
        yield Environment.model_validate(offered)


def refused(cluster: ClusterApi, environment: Environment, backend: str, spec: dict[str, Any]) -> bool:
    roles = {"master": {}, "worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}
    image = "registry.example.com/ai/training:2.8"
    data = {"name": "bert", "image": image, "launcher": {"command": ["true"]}, "backend": backend, "storage": STORAGE}
    job = render_job(Experiment.model_validate({**data, "roles": roles}), environment)
    if job.problems:
        return any(problem.path.startswith("roles.worker.pod_overrides") for problem in job.problems)
    templates = BACKENDS[backend].templates(job.plan, job.manifests)
    runs = dry_run.dry_runs(job.plan, job.manifests, templates, StackContext())
    answers = cluster.send_all([run.request for run in runs])
    return any(
        dry_run.judge(run, answer, StackContext(), job.plan).problems for run, answer in zip(runs, answers, strict=True)
    )


@pytest.mark.parametrize("backend", [defaults.VOLCANO, "jobset"])
def test_wrong_patches_are_refused(environment: Environment, backend: str) -> None:
    context = "dev-cluster"
    with closing(ClusterApi(context)) as cluster:
        passed = {number for number, spec in enumerate(WRONG) if not refused(cluster, environment, backend, spec)}
    assert passed == ACCEPTED[backend]
