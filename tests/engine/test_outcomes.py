"""What became of a job is read from what the real controllers write: the gates `succeeded` and `soak` follow from
it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.engine.kubelet import fails, succeeds
from tests.engine.live import Live, until
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome, seconds_of
from trainform.deployed.releases.source import labels_of_pods
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import job_body

pytestmark = pytest.mark.proof("the outcome of a job on every operator")

BERT: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 1}},
    "restart": "never",
    "shared_memory": "64Mi",
}


def live_job(live: Live, job: RenderedJob) -> dict[str, Any]:
    (found,) = [body for body in live.find_like(job_body(job.manifests)) if body["metadata"]["name"] == job.plan.job]
    return found


def outcome(live: Live, job: RenderedJob) -> Outcome:
    """By the pods that are left: an operator deletes some at the end."""
    labels = labels_of_pods(job.plan.experiment, job.plan.revision)
    pods = [
        pod for pod in live.find_all("pods", job.plan.namespace) if labels.items() <= pod["metadata"]["labels"].items()
    ]
    return BACKENDS[job.plan.backend].OUTCOME(live_job(live, job), pods)


def test_every_operator_says_whether_a_job_has_succeeded_and_when(addons_project: Project, addons_live: Live) -> None:
    live, names = addons_live, []
    for backend in defaults.BACKENDS:
        for end in ("good", "bad"):
            names.append(f"{backend}-{end}")
            addons_project.experiment(names[-1], {**BERT, "backend": backend})
    addons_project.up(stack_of(addons_project, "outcomes", names))
    jobs = {name: addons_project.rendered(name) for name in names}
    for name, job in jobs.items():
        pods = pods_of(live, job.plan)
        assert outcome(live, job) == Outcome(), name
        for pod in pods.values():
            (succeeds if name.endswith("good") else fails)(live, pod)
    for name, job in jobs.items():
        word = "succeeded" if name.endswith("good") else "failed"
        until(lambda job=job, word=word: outcome(live, job).word == word, f"{name} to have {word}", seconds=90)  # type: ignore[misc]
        found = outcome(live, job)
        assert datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(found.at) < datetime.timedelta(
            minutes=5
        )
        seconds = seconds_of(live_job(live, job), found)
        assert seconds is not None
        assert 0 <= seconds < 600
