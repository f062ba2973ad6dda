"""What became of a job is read from what the real controllers write, on every operator: the gates `succeeded` and
`soak` follow from it. `N times` allows N restarts of containers, and the next one ends the job.

The one exception, a PyTorchJob of KubeDL, is noted in its plan.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.engine.conftest import own_project
from tests.engine.kubelet import fails, is_preempted, succeeds
from tests.engine.live import Live, until
from tests.engine.lives import SETTLED
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.support.samples import fitting
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome, seconds_of
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import job_body
from trainform.manifests.objects import pod_selector

pytestmark = pytest.mark.proof("the outcome of a job, and its restarts, on every operator")

TRAINING: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 1}},
    "restart": "never",
    "shared_memory": "64Mi",
}
ALLOWED = 2
RESTARTS: dict[str, Any] = {
    **TRAINING,
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}},
    "restart": f"{ALLOWED} times",
}
DISRUPTED: dict[str, Any] = {"when": "1 times", "exit_codes": [42], "ignore": "disruption"}
# The `restart` by exit codes that each operator knows, and one of these codes.
RULES: dict[str, tuple[dict[str, Any], int]] = {
    **dict.fromkeys(("kubernetes", "jobset", "trainer"), (DISRUPTED, 42)),
    "volcano": ({"exit_codes": [41, 42]}, 42),
    "kubeflow": ({"exit_codes": ["128-255"]}, 137),
    "kubedl": ({"exit_codes": [130, 137, 138, 143]}, 137),
}
# The `restart` of a role without ranks, of which a pod fails.
WAYS: dict[str, dict[str, Any]] = {
    "limited": {"restart": f"{ALLOWED} times"},
    "never": {"restart": "never"},
    "usual": {},
}
FETCH = {"ranked": False, "command": ["python", "/app/fetch.py"]}


def on_backend(experiment: dict[str, Any], backend: str) -> dict[str, Any]:
    return {**experiment, "backend": backend, "roles": fitting(backend, experiment["roles"])}


EXPERIMENTS: dict[str, dict[str, Any]] = {
    **{f"{end}-{backend}": on_backend(TRAINING, backend) for backend in BACKENDS for end in ("good", "bad")},
    **{
        f"rules-{backend}": on_backend({**TRAINING, "restart": rule}, backend) for backend, (rule, _) in RULES.items()
    },
    **{
        f"cleans-{pods}-{backend}": {**TRAINING, "backend": backend, "clean_pods": pods}
        for pods in ("none", "all")
        for backend in ("kubeflow", "kubedl")
    },
    **{f"restarts-{backend}": on_backend(RESTARTS, backend) for backend in BACKENDS},
    **{
        f"{way}-{backend}": {
            **RESTARTS, "backend": backend, "roles": {"fetch": {**FETCH, **parts}, "worker": {"replicas": 2}},
        }
        for way, parts in WAYS.items()
        for backend in ("jobset", "trainer")
    },
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Jobs:
    """The jobs of all experiments, up in one stack."""

    live: Live
    rendered: Mapping[str, RenderedJob]

    def named(self, *starts: str) -> list[str]:
        """Return the experiments whose names begin with one of these words."""
        return [name for name in self.rendered if name.partition("-")[0] in starts]

    def pods(self, name: str, role: str = "") -> list[dict[str, Any]]:
        """Return the pods of a job, or of one of its roles, once all run."""
        pods = pods_of(self.live, self.rendered[name].plan).values()
        return [pod for pod in pods if role in ("", pod["metadata"]["labels"][defaults.ROLE_LABEL])]

    def body(self, name: str) -> dict[str, Any]:
        """Return the live job object."""
        job = self.rendered[name]
        same_kind = self.live.find_like(job_body(job.manifests))
        return next(body for body in same_kind if body["metadata"]["name"] == job.plan.job)

    def left(self, name: str) -> list[dict[str, Any]]:
        """Return the pods of a job that are left: an operator deletes some at the end."""
        plan = self.rendered[name].plan
        labels = {**pod_selector(plan.experiment), defaults.REVISION_LABEL: plan.revision}.items()
        return [
            pod for pod in self.live.find_all("pods", plan.namespace) if labels <= pod["metadata"]["labels"].items()
        ]

    def outcome(self, name: str) -> Outcome:
        """Return what became of the job, by its pods that are left."""
        return BACKENDS[self.rendered[name].plan.backend].OUTCOME(self.body(name), self.left(name))

    def restarted(self, pod: dict[str, Any], count: int) -> None:
        """The kubelet's word that the pod's container was started again, so often by now."""
        containers = [container | {"restartCount": count} for container in pod["status"]["containerStatuses"]]
        self.live.report(pod["metadata"]["name"], pod["metadata"]["namespace"], {"containerStatuses": containers})

    def rule(self, name: str) -> tuple[dict[str, Any], int]:
        return RULES[self.rendered[name].plan.backend]

    def replace(self, names: Sequence[str], end: Callable[[str, dict[str, Any]], None]) -> None:
        """End a worker of each job so, and wait until another pod runs in its place, and its peer as before."""
        before = {name: self.pods(name) for name in names}
        for name in names:
            end(name, self.pods(name, "worker")[-1])
        for name in names:
            old, new = ({pod["metadata"]["uid"] for pod in pods} for pods in (before[name], self.pods(name)))
            assert len(new - old) == 1, name

    def end(self, names: Iterable[str], word: str) -> None:
        """Wait until this has become of all of them."""
        for name in names:
            until(lambda name=name: self.outcome(name).word == word, f"{name} to have {word}", seconds=90)  # type: ignore[misc]

    def stay(self, names: Iterable[str]) -> None:
        """Fail the test where one of them ends within the time that a controller needs."""
        end = time.monotonic() + SETTLED
        while time.monotonic() < end:
            assert [name for name in names if self.outcome(name) != Outcome()] == []
            time.sleep(0.2)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, addons_environ: dict[str, str], addons_live: Live) -> Iterator[Jobs]:
    """Yield all experiments, up."""
    for project in own_project(tmp_path_factory.mktemp("outcomes"), addons_environ, addons_live):
        for name, data in EXPERIMENTS.items():
            project.experiment(name, data)
        project.up(stack_of(project, "outcomes", list(EXPERIMENTS)))
        yield Jobs(addons_live, {name: project.rendered(name) for name in EXPERIMENTS})


def test_every_operator_says_whether_a_job_has_succeeded_and_when(jobs: Jobs) -> None:
    for name in jobs.named("good", "bad"):
        pods = jobs.pods(name)
        assert jobs.outcome(name) == Outcome(), name
        for pod in pods:
            (succeeds if name.startswith("good") else fails)(jobs.live, pod)
    jobs.end(jobs.named("good"), "succeeded")
    jobs.end(jobs.named("bad"), "failed")
    for name in jobs.named("good", "bad"):
        found = jobs.outcome(name)
        age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(found.at)
        assert age < datetime.timedelta(minutes=5)
        seconds = seconds_of(jobs.body(name), found)
        assert seconds is not None
        assert 0 <= seconds < 600


def test_a_job_fails_at_the_restart_after_those_that_are_allowed(jobs: Jobs) -> None:
    names = jobs.named("restarts")
    workers = [jobs.pods(name, "worker") for name in names]
    for pods in workers:  # the limit counts over the pods of a role
        jobs.restarted(pods[0], 1)
        jobs.restarted(pods[-1], ALLOWED - 1)
    jobs.stay(names)
    for pods in workers:
        jobs.restarted(pods[0], 2)
    endless = [name for name in names if any("KubeDL never ends" in note for note in jobs.rendered[name].plan.notes)]
    assert endless == ["restarts-kubedl"]
    jobs.end([name for name in names if name not in endless], "failed")
    assert jobs.outcome("restarts-kubedl") == Outcome()


def test_an_unranked_role_gives_up_at_its_own_limit(jobs: Jobs) -> None:
    """A role without its own `restart` does not end the training, however often it fails."""
    for name in jobs.named(*WAYS):
        [pod] = jobs.pods(name, "fetch")
        if name.startswith("never"):
            fails(jobs.live, pod)
        else:
            jobs.restarted(pod, ALLOWED + 1)
    jobs.end(jobs.named("limited", "never"), "failed")
    jobs.stay(jobs.named("usual"))


def test_a_pod_restarts_upon_its_codes_and_the_job_fails_upon_any_other(jobs: Jobs) -> None:
    """A disruption is ignored: it is not the one restart that the rule allows."""
    names = jobs.named("rules")
    jobs.replace(
        [name for name in names if "ignore" in jobs.rule(name)[0]], lambda name, pod: is_preempted(jobs.live, pod)
    )
    jobs.replace(names, lambda name, pod: fails(jobs.live, pod, jobs.rule(name)[1]))
    for name in names:
        fails(jobs.live, jobs.pods(name, "worker")[-1], 1)
    jobs.end(names, "failed")


def test_the_pods_that_are_deleted_at_the_end(jobs: Jobs) -> None:
    for name in jobs.named("cleans"):
        [master] = jobs.pods(name, "master")
        fails(jobs.live, master)
    jobs.end(jobs.named("cleans"), "failed")
    without = [name for name in jobs.named("cleans") if "-all-" in name]
    until(lambda: not any(map(jobs.left, without)), "all pods to be deleted")
    for name in {*jobs.named("cleans")} - {*without}:
        assert sorted(pod["status"]["phase"] for pod in jobs.left(name)) == ["Failed", "Running"], name
