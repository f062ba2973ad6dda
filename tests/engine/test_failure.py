"""What follows a failure, by the words of `restart` and by policies, and what ends a job, on the real controller: a
test takes the part of the kubelet and of `kubectl drain`."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.pods import is_running
from tests.engine.programs import stack_of
from tests.engine.project import Project
from trainform.backends.backend import BACKENDS

pytestmark = pytest.mark.proof("every way to fail, each of which waits for controllers")

COMMAND = ["python", "/app/train.py"]
TRAINING: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"command": COMMAND},
    "roles": {"worker": {"replicas": 2}, "extra": {"replicas": 2, "ranked": False, "command": COMMAND}},
    "shared_memory": "64Mi",
}
OWN_POLICIES = [{"event": "PodEvicted", "action": "RestartJob"}, {"exit_code": 137, "action": "RestartJob"}]
PER_REPLICA: dict[str, Any] = {
    "network": {"host": True, "ports": "per-replica"},
    "launcher": {"tensorflow": {"command": COMMAND}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}, "extra": {"ranked": False, "command": COMMAND}},
}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "evicted": {"restart": "all-when-evicted"},
    "retried": {"restart": "all-when-evicted", "max_retry": 2},
    "pressed": {"restart": "on-failure"},
    "pressed-apart": PER_REPLICA | {"restart": "2 times"},
    "own-policies": {"policies": OWN_POLICIES},
    "own-failure": {"policies": OWN_POLICIES},
    "counted": PER_REPLICA,
}
DONE = ("Completed", "Failed", "Terminated", "Aborted")

Uids = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Training:
    """One experiment on the live cluster."""

    live: Live
    project: Project
    name: str

    @property
    def namespace(self) -> str:
        """Where it runs, beside the other experiments."""
        return self.project.namespace

    @property
    def status(self) -> dict[str, Any]:
        """What the controller says of the job."""
        found: dict[str, Any] = self.live.get("jobs", self.project.plan(self.name).job, self.namespace)["status"]
        return found

    @property
    def restarts(self) -> int:
        """How often the whole job began again."""
        return int(self.status.get("retryCount", 0))

    @property
    def phase(self) -> str:
        """The state of the job."""
        return str(self.status["state"]["phase"])

    @property
    def outcome(self) -> str:
        """What the gates of a promotion know of it."""
        return BACKENDS["volcano"].OUTCOME({"status": self.status}, [*self.pods().values()]).word

    def pods(self) -> dict[str, dict[str, Any]]:
        """Its pods by the end of their names: `worker-0`."""
        job = self.project.plan(self.name).job
        return {
            pod["metadata"]["name"].removeprefix(f"{job}-"): pod
            for pod in self.live.find_all("pods", self.namespace)
            if pod["metadata"]["name"].startswith(f"{job}-")
        }

    def running(self, count: int) -> dict[str, dict[str, Any]]:
        """Its pods, once `count` of them run and none is on its way out."""

        def found() -> dict[str, dict[str, Any]] | None:
            pods = {end: pod for end, pod in self.pods().items() if is_running(pod)}
            return pods if len(pods) == count else None

        return until(found, f"{count} running pods of {self.name}")

    def evict(self, end: str) -> None:
        """Take a pod from its node, gone at once."""
        self.live.evict(self.pods()[end]["metadata"]["name"], self.namespace)

    def exits(self, end: str, code: int) -> None:
        """The kubelet's word that the pod's container has ended, and the pod with it."""
        ended = {"ready": False, "state": {"terminated": {"exitCode": code}}}
        self._report(end, ended, {"phase": "Failed" if code else "Succeeded"})

    def pressed(self, end: str) -> None:
        """The kubelet evicts a pod because its node runs out of something: it has failed, and nobody deletes it."""
        ended = {"ready": False, "state": {"terminated": {"exitCode": 137}}}
        self._report(end, ended, {"phase": "Failed", "reason": "Evicted"})

    def _report(self, end: str, of_container: dict[str, Any], of_pod: dict[str, Any]) -> None:
        found = self.pods()[end]
        (container,) = found["status"]["containerStatuses"]
        status = of_pod | {"containerStatuses": [container | of_container]}
        self.live.report(found["metadata"]["name"], self.namespace, status)

    def drained(self, end: str, code: int = 143) -> None:
        """A pod leaves its node as with a real kubelet: asked to go, then failed, then gone (`evict` alone: gone at
        once)."""
        path = self.live.path("pods", self.namespace, self.pods()[end]["metadata"]["name"])
        for finalizers in (["example.com/kubelet"], None):
            patch = {"metadata": {"finalizers": finalizers}}
            self.live.merge(path, patch)
            if finalizers is not None:
                self.evict(end)
                self.exits(end, code)

    def came_back_alone(self, before: Uids, end: str) -> None:
        """The pod runs again under another uid, whatever the others do."""

        def again() -> bool:
            pods = {other: pod for other, pod in self.pods().items() if is_running(pod)}
            return end in pods and pods[end]["metadata"]["uid"] != before[end]

        until(again, f"{end} to come back")

    def came_back(self, before: Uids, *ends: str) -> Uids:
        """Return the pods, once those are new; fails the test where another is new too."""

        def again() -> Uids | None:
            now = uids({end: pod for end, pod in self.pods().items() if is_running(pod)})
            return now if now.keys() == before.keys() and all(now[end] != before[end] for end in ends) else None

        now = until(again, f"{', '.join(ends)} to come back")
        assert {end for end in now if now[end] != before[end]} == set(ends)
        return now


def uids(pods: dict[str, dict[str, Any]]) -> Uids:
    return {end: pod["metadata"]["uid"] for end, pod in pods.items()}


def stays(condition: Callable[[], bool], seconds: float) -> None:
    """Fail the test where the condition does not hold all the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition()
        time.sleep(0.1)


Start = Callable[[str], Training]


@pytest.fixture(scope="module")
def stack(shared_project: Project) -> str:
    """Return the stack of all experiments, up."""
    for name, changes in EXPERIMENTS.items():
        shared_project.experiment(name, TRAINING | changes)
    shared_project.copied("allreduce")
    stack = stack_of(shared_project, "failures", [*EXPERIMENTS, "allreduce"])
    shared_project.up(stack)
    return stack


@pytest.fixture
def training(shared_project: Project, live: Live, stack: str) -> Start:
    """Gives the experiment of that name, up."""
    return functools.partial(Training, live, shared_project)


def test_an_eviction_restarts_the_world_and_a_voluntary_scale_down_does_not(training: Start, stack: str) -> None:
    job = training("evicted")
    before = uids(job.running(4))

    started = time.monotonic()
    job.evict("worker-1")
    until(lambda: job.restarts == 1, "the job to be restarted")
    reaction = time.monotonic() - started
    before = job.came_back(before, *before)

    job.drained("worker-0")
    until(lambda: job.restarts == 2, "the job to be restarted again")
    before = job.came_back(before, *before)

    watch = max(3.0, 5 * reaction)
    version = job.status["version"]
    job.evict("extra-0")
    before = job.came_back(before, "extra-0")
    fewer = TRAINING["roles"] | {"extra": {**TRAINING["roles"]["extra"], "replicas": 1}}
    job.project.experiment(job.name, TRAINING | EXPERIMENTS[job.name] | {"roles": fewer})
    job.project.up(stack)
    until(lambda: len(job.pods()) == 3, "the scale-down")
    stays(lambda: (job.restarts, job.status["version"]) == (2, version), watch)
    del before["extra-1"]
    assert uids(job.running(3)) == before


def test_the_last_of_max_retry_restarts_ends_the_job(training: Start) -> None:
    job = training("retried")
    before = uids(job.running(4))
    job.evict("worker-0")
    until(lambda: job.restarts == 1, "the job to be restarted")
    job.came_back(before, *before)
    job.exits("worker-0", 1)  # Volcano cannot tell a failure from an eviction
    until(lambda: job.phase == "Failed", "the job to fail")
    until(lambda: len(job.pods()) <= 1, "its pods to go, but for the one that failed")


def test_a_pod_that_its_kubelet_evicts_comes_back(training: Start) -> None:
    """The kubelet leaves the pod there, which has failed; Volcano makes none beside it."""
    for name, end, count, workers in (
        ("pressed", "worker-1", 4, ("worker-0", "worker-1")),
        ("pressed-apart", "ps-0-0", 6, ("worker-0-0", "worker-1-0", "worker-2-0")),
    ):
        job = training(name)
        before = uids(job.running(count))
        job.pressed(end)
        job.came_back(before, end)
        until(lambda job=job: job.phase == "Running", "the job to run on")  # type: ignore[misc]
        assert job.restarts == 1
        for worker in workers:
            job.exits(worker, 0)
        until(lambda job=job: job.phase == "Completed", "the job to be complete")  # type: ignore[misc]


@pytest.mark.shows("a job ends with its launcher")
def test_the_end_of_the_launcher_is_the_end_of_the_job_and_no_change_for_a_preview(training: Start, stack: str) -> None:
    job = training("allreduce")
    job.running(3)
    job.exits("launcher-0", 0)
    until(lambda: job.phase == "Completed", "the job to be complete")
    until(lambda: len(job.pods()) == 1, "the workers to go")
    assert job.outcome == "succeeded"
    job.project.unchanged(stack)  # nor is what the tests before have done to the other jobs


def test_the_defaults_stay_beside_policies_of_the_users(training: Start) -> None:
    """The jobs' own policies were once all that was left: no failure and no end of a role ended anything."""
    job = training("own-policies")
    before = uids(job.running(4))
    job.exits("worker-1", 137)  # by a policy of the user's at the job, although the role has a default for any failure
    until(lambda: job.restarts == 1, "the job to be restarted")
    before = job.came_back(before, *before)
    job.exits("worker-0", 0)
    until(lambda: job.status.get("succeeded") == 1, "the first worker to be counted")
    assert job.phase == "Running"
    job.exits("extra-1", 1)  # which ends nothing
    until(lambda: job.status.get("failed") == 1, "the failed pod to be counted")
    job.exits("worker-1", 0)
    until(lambda: job.phase == "Completed", "the job to be complete")
    until(lambda: job.pods().keys() == {"worker-0", "worker-1", "extra-1"}, "the extra that runs to go")
    assert job.outcome == "succeeded in part"

    other = training("own-failure")
    other.running(4)
    other.exits("worker-1", 1)
    until(lambda: other.phase in DONE, "the job to end by the default")
    assert other.restarts == 0
    until(lambda: other.pods().keys() == {"worker-1"}, "the pods to go, but for the one that failed")


def test_a_job_ends_with_all_replicas_of_its_workers_where_each_is_a_task(training: Start) -> None:
    job = training("counted")
    assert [ending.pods for ending in job.project.plan("counted").ends_with] == ["the role worker"]
    before = uids(job.running(6))
    for count, worker in enumerate(("worker-0-0", "worker-2-0"), start=1):
        job.exits(worker, 0)
        until(lambda count=count: job.status.get("succeeded") == count, f"{worker} to be counted")  # type: ignore[misc]
        assert job.phase == "Running"
    job.evict("ps-1-0")  # what the controller does next shows that it goes on
    job.came_back_alone(before, "ps-1-0")
    until(lambda: len([pod for pod in job.pods().values() if is_running(pod)]) == 4, "the others to run on")
    until(lambda: job.phase == "Running", "the job to run on")
    job.exits("worker-1-0", 0)
    until(lambda: job.phase == "Completed", "the job to be complete")
    workers = {f"worker-{index}-0" for index in range(3)}
    until(lambda: job.pods().keys() == workers, "parameter servers and extras to go")
