"""`N times` allows N restarts of containers on every operator, and the next one ends the job: on the real controllers.

The one exception, a PyTorchJob of KubeDL, is noted in its plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.kubelet import fails
from tests.engine.live import Live, until
from tests.engine.lives import SETTLED
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.engine.test_outcomes import outcome
from trainform import defaults
from trainform.backends.outcome import Outcome

pytestmark = pytest.mark.proof("restarts on every operator")

ALLOWED = 2
LLAMA: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}},
    "restart": f"{ALLOWED} times",
    "shared_memory": "64Mi",
}


def restarted(live: Live, pod: dict[str, Any], count: int) -> None:
    """The kubelet's word that the pod's container was started again, so often by now."""
    containers = [container | {"restartCount": count} for container in pod["status"]["containerStatuses"]]
    live.report(pod["metadata"]["name"], pod["metadata"]["namespace"], {"containerStatuses": containers})


def stays(ended: Callable[[], list[str]], seconds: float) -> None:
    """Fail the test where a job ends meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert ended() == []
        time.sleep(0.2)


def test_a_job_fails_at_the_restart_after_those_that_are_allowed(addons_project: Project, addons_live: Live) -> None:
    live, names = addons_live, [f"llama-{backend}" for backend in defaults.BACKENDS]
    for name, backend in zip(names, defaults.BACKENDS, strict=True):
        addons_project.experiment(name, {**LLAMA, "backend": backend})
    addons_project.up(stack_of(addons_project, "restarts", names))
    jobs = {name: addons_project.rendered(name) for name in names}
    workers = {
        name: [pod for pod in pods_of(live,
                job.plan).values() if pod["metadata"]["labels"][defaults.ROLE_LABEL] == "worker"]
        for name, job in jobs.items()
    }  # fmt: skip
    for pods in workers.values():  # the limit counts over the pods of a role
        restarted(live, pods[0], 1)
        restarted(live, pods[-1], ALLOWED - 1)
    stays(lambda: [name for name, job in jobs.items() if outcome(live, job) != Outcome()], SETTLED)
    for pods in workers.values():
        restarted(live, pods[0], 2)
    endless = {name for name, job in jobs.items() if any("KubeDL never ends" in note for note in job.plan.notes)}
    for name in jobs.keys() - endless:
        until(lambda job=jobs[name]: outcome(live, job).word == "failed", f"{name} to fail", seconds=60)  # type: ignore[misc]
    assert endless == {"llama-kubedl"}
    assert outcome(live, jobs["llama-kubedl"]) == Outcome()


def test_an_unranked_role_gives_up_at_its_own_limit(addons_project: Project, addons_live: Live) -> None:
    """A role without its own `restart` does not end the training, however often it fails."""
    fetch = {"ranked": False, "command": ["python", "/app/fetch.py"]}
    ways: dict[str, dict[str, Any]] = {
        "limited": {"restart": f"{ALLOWED} times"},
        "never": {"restart": "never"},
        "usual": {},
    }
    names = {f"{way}-{backend}": (way, backend) for way in ways for backend in ("jobset", "trainer")}
    for name, (way, backend) in names.items():
        roles = {"fetch": {**fetch, **ways[way]}, "worker": {"replicas": 2}}
        addons_project.experiment(name, {**LLAMA, "backend": backend, "roles": roles})
    addons_project.up(stack_of(addons_project, "gives-up", [*names]))
    jobs = {name: addons_project.rendered(name) for name in names}
    fetching = {
        name: next(pod for pod in pods_of(addons_live,
                job.plan).values() if pod["metadata"]["labels"][defaults.ROLE_LABEL] == "fetch")
        for name, job in jobs.items()
    }  # fmt: skip
    for name, pod in fetching.items():
        if names[name][0] == "never":
            fails(addons_live, pod)
        else:
            restarted(addons_live, pod, ALLOWED + 1)
    for name, (way, _) in names.items():
        if way != "usual":
            until(lambda job=jobs[name]: outcome(addons_live, job).word == "failed", f"{name} to fail", seconds=60)  # type: ignore[misc]
    usual = [name for name, (way, _) in names.items() if way == "usual"]
    stays(lambda: [name for name in usual if outcome(addons_live, jobs[name]) != Outcome()], SETTLED)
