"""What follows a failure, by the words of `restart`, on the real controller: a test takes the part of the kubelet and of `kubectl drain`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.engine.live import Live, until
from tests.engine.project import Project

COMMAND = ["python", "/app/train.py"]
TRAINING: dict[str, Any] = {
    "image": "registry.example.com/ai/training:latest",
    "launcher": {"command": COMMAND},
    "roles": {"worker": {"replicas": 2}, "extra": {"replicas": 2, "ranked": False, "command": COMMAND}},
    "shared_memory": "64Mi",
}
DONE = ("Completed", "Failed", "Terminated", "Aborted")

Uids = dict[str, str]


def up(project: Project, name: str = "failing", **changes: Any) -> str:
    """The experiment with changes, up; its stack."""
    project.experiment(name, TRAINING | changes)
    stack = project.stack(name)
    project.up(stack)
    return stack


def uids(live: Live, namespace: str, count: int) -> Uids:
    """Pods by the end of their name: `worker-0`. All of them run."""
    return {
        "-".join(pod["metadata"]["name"].split("-")[2:]): pod["metadata"]["uid"]
        for pod in live.running_pods(namespace, count)
    }


def pod(live: Live, namespace: str, end: str) -> dict[str, Any]:
    return next(pod for pod in live.find_all("pods", namespace) if pod["metadata"]["name"].endswith(f"-{end}"))


def name_of(live: Live, namespace: str, end: str) -> str:
    return str(pod(live, namespace, end)["metadata"]["name"])


def status(live: Live, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = live.only_job(namespace)["status"]
    return found


def restarts(live: Live, namespace: str) -> int:
    return int(status(live, namespace).get("retryCount", 0))


def phase(live: Live, namespace: str) -> str:
    return str(status(live, namespace)["state"]["phase"])


def exits(live: Live, namespace: str, end: str, code: int) -> None:
    """The kubelet's word that the pod's container has ended, and the pod with it."""
    found = pod(live, namespace, end)
    (container,) = found["status"]["containerStatuses"]
    ended = {**container, "ready": False, "state": {"terminated": {"exitCode": code}}}
    phase = "Failed" if code else "Succeeded"
    live.report(found["metadata"]["name"], namespace, {"phase": phase, "containerStatuses": [ended]})


def drained(live: Live, namespace: str, end: str, code: int = 143) -> None:
    """A pod leaves its node as with a real kubelet: asked to go, then failed, then gone (`evict` alone: gone at once)."""
    path = live.path("pods", namespace, name_of(live, namespace, end))
    for finalizers in (["example.com/kubelet"], None):
        patch = {"metadata": {"finalizers": finalizers}}
        assert live.request("PATCH", path, patch, "application/merge-patch+json").status_code == 200
        if finalizers is not None:
            live.evict(name_of(live, namespace, end), namespace)
            exits(live, namespace, end, code)


def restarted(live: Live, namespace: str, end: str, times: int) -> None:
    """The kubelet's word that the pod's container was started again, so often by now."""
    found = pod(live, namespace, end)
    (container,) = found["status"]["containerStatuses"]
    live.report(found["metadata"]["name"], namespace, {"containerStatuses": [{**container, "restartCount": times}]})


def stays(condition: Callable[[], bool], seconds: float) -> None:
    """Fail the test where the condition does not hold all the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition()
        time.sleep(0.1)


def came_back(live: Live, namespace: str, before: Uids, *ends: str) -> Uids:
    """The pods, once those are new; fails the test where another is new too."""

    def again() -> Uids | None:
        now = {
            "-".join(pod["metadata"]["name"].split("-")[2:]): pod["metadata"]["uid"]
            for pod in live.find_all("pods", namespace)
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }
        return now if now.keys() == before.keys() and all(now[end] != before[end] for end in ends) else None

    now = until(again, f"{', '.join(ends)} to come back")
    assert {end for end in now if now[end] != before[end]} == set(ends)
    return now


def test_an_eviction_restarts_the_world_and_a_voluntary_scale_down_does_not(project: Project, live: Live) -> None:
    namespace = project.namespace
    stack = up(project, restart="all-when-evicted")
    everybody = ("worker-0", "worker-1", "extra-0", "extra-1")
    before = uids(live, namespace, 4)

    started = time.monotonic()
    live.evict(name_of(live, namespace, "worker-1"), namespace)
    until(lambda: restarts(live, namespace) == 1, "the job to be restarted")
    reaction = time.monotonic() - started
    before = came_back(live, namespace, before, *everybody)

    drained(live, namespace, "worker-0")
    until(lambda: restarts(live, namespace) == 2, "the job to be restarted again")
    before = came_back(live, namespace, before, *everybody)

    watch = max(3.0, 5 * reaction)
    version = status(live, namespace)["version"]
    live.evict(name_of(live, namespace, "extra-0"), namespace)
    before = came_back(live, namespace, before, "extra-0")
    project.experiment(
        "failing",
        TRAINING
        | {
            "restart": "all-when-evicted",
            "roles": TRAINING["roles"] | {"extra": {**TRAINING["roles"]["extra"], "replicas": 1}},
        },
    )
    project.up(stack)
    until(lambda: len(live.find_all("pods", namespace)) == 3, "the scale-down")
    stays(lambda: (restarts(live, namespace), status(live, namespace)["version"]) == (2, version), watch)
    del before["extra-1"]
    assert uids(live, namespace, 3) == before
    project.unchanged(stack)


def test_the_last_of_max_retry_restarts_ends_the_job(project: Project, live: Live) -> None:
    namespace = project.namespace
    up(project, restart="all-when-evicted", max_retry=2)
    before = uids(live, namespace, 4)
    live.evict(name_of(live, namespace, "worker-0"), namespace)
    until(lambda: restarts(live, namespace) == 1, "the job to be restarted")
    came_back(live, namespace, before, *before)
    exits(live, namespace, "worker-0", 1)  # Volcano cannot tell a failure from an eviction
    until(lambda: phase(live, namespace) == "Failed", "the job to fail")
    until(lambda: len(live.find_all("pods", namespace)) <= 1, "its pods to go, but for the one that failed")


def test_never_brings_a_deleted_pod_back_alone_and_a_failed_one_ends_the_job(project: Project, live: Live) -> None:
    namespace = project.namespace
    network = {"host": True, "ports": "per-replica"}
    stack = up(
        project,
        network=network,
        launcher={"tensorflow": {"command": COMMAND}},
        roles={"ps": {"replicas": 2}, "worker": {"replicas": 3}},
    )
    before = {pod["metadata"]["name"]: pod for pod in live.running_pods(namespace, 5)}
    lost = name_of(live, namespace, "worker-1-0")
    live.evict(lost, namespace)

    def back() -> dict[str, dict[str, Any]] | None:
        now = {pod["metadata"]["name"]: pod for pod in live.find_all("pods", namespace)}
        found = now.get(lost)
        again = found is not None and found["metadata"]["uid"] != before[lost]["metadata"]["uid"]
        return now if again and found is not None and found["status"].get("phase") == "Running" else None

    now = until(back, "the pod to come back")
    assert {name for name in now if now[name]["metadata"]["uid"] != before[name]["metadata"]["uid"]} == {lost}
    assert now.keys() == before.keys()
    for field in ("hostname", "subdomain"):
        assert now[lost]["spec"][field] == before[lost]["spec"][field]
    old, new = (found[lost]["spec"]["containers"][0] for found in (before, now))
    assert new["ports"] == old["ports"]
    assert new["env"] == old["env"]
    assert restarts(live, namespace) == 0
    project.unchanged(stack)

    exits(live, namespace, "ps-0-0", 1)
    until(lambda: phase(live, namespace) in DONE, "the job to end")
    until(lambda: len(live.find_all("pods", namespace)) == 1, "the pods to go, but for the one that failed")
    project.unchanged(stack)


def test_a_pod_whose_containers_may_fail_comes_back_after_an_eviction(project: Project, live: Live) -> None:
    namespace = project.namespace
    up(project, restart="on-failure")
    before = uids(live, namespace, 4)
    drained(live, namespace, "worker-1")
    before = came_back(live, namespace, before, "worker-1")
    live.evict(name_of(live, namespace, "worker-0"), namespace)
    before = came_back(live, namespace, before, "worker-0")
    stays(lambda: phase(live, namespace) == "Running" and restarts(live, namespace) == 0, 3)
    assert uids(live, namespace, 4) == before


def test_the_number_of_restarts_of_containers(project: Project, live: Live) -> None:
    namespace = project.namespace
    up(project, restart="2 times")
    live.running_pods(namespace, 4)
    restarted(live, namespace, "extra-0", 9)  # an extra never ends the training
    restarted(live, namespace, "worker-0", 1)
    restarted(live, namespace, "worker-1", 1)  # two over the role, which are allowed
    stays(lambda: phase(live, namespace) not in DONE and len(live.find_all("pods", namespace)) == 4, 3)
    restarted(live, namespace, "worker-1", 2)
    until(lambda: phase(live, namespace) in DONE, "the job to end")


def test_the_end_of_the_launcher_is_the_end_of_the_job(project: Project, live: Live) -> None:
    namespace = project.namespace
    project.copied("allreduce")
    stack = project.stack("allreduce")
    project.ssh_secret(stack).succeeded()
    project.up(stack)
    live.running_pods(namespace, 3)
    exits(live, namespace, "launcher-0", 0)
    until(lambda: phase(live, namespace) == "Completed", "the job to be complete")
    until(lambda: len(live.find_all("pods", namespace)) == 1, "the workers to go")
    project.unchanged(stack)
