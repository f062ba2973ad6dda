"""Which state of which pod counts; tests/engine/test_real_rehearsals.py follows real ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from tests.running.jobs import of_role
from trainform.cluster.phases import Phase
from trainform.console.screen import screen
from trainform.local.rehearsal.real.follow import Follower
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.records import PodRecord
from trainform.local.rehearsal.run.report import Report
from trainform.local.rehearsal.workload import Workload, planned_name
from trainform.local.sandbox.api import Api, RequestError

RAISED = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in main\nKeyError: 'lr'\n"
RESET = RAISED.replace("KeyError: 'lr'", "ConnectionResetError: [Errno 104] Connection reset by peer")
JOB = {"apiVersion": "v1", "kind": "Job", "metadata": {"name": "bert", "namespace": "rehearsal-bert"}}


def pod(phase: str, second: int, state: dict[str, Any], index: int = 1, **metadata: Any) -> dict[str, Any]:
    """Return a worker as it was made at this second, without an output that could be read."""
    made = of_role("worker", index, phase)
    made["metadata"] |= {"uid": f"{index} {second}", "creationTimestamp": time(second), **metadata}
    made["spec"]["hostname"] = f"bert-worker-{index}"
    made["status"]["containerStatuses"] = [
        {"name": made["spec"]["containers"][0]["name"], "restartCount": 0, "state": state}
    ]
    return made


def time(second: int) -> str:
    """Return the time at this second."""
    return f"2026-11-27T20:00:{second:02}Z"


def ended(code: int, second: int, message: str = RAISED, began: int = 1) -> dict[str, Any]:
    """Return the state of a container that ran from the second `began` on. message: of a failure."""
    result = {"reason": "Error", "message": message} if code else {"reason": "Completed"}
    return {"terminated": {"exitCode": code, **result, "startedAt": time(began), "finishedAt": time(second)}}


def deleted(second: int, made: dict[str, Any]) -> dict[str, Any]:
    """Return the pod as it is once the operator has deleted it at this second."""
    deletion = {"deletionTimestamp": time(second + 30), "deletionGracePeriodSeconds": 30}
    return {**made, "metadata": {**made["metadata"], **deletion}}


def restarted(index: int, end: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return a pod whose container ended so, and was restarted."""
    made = pod("Running", 1, state, index)
    made["status"]["containerStatuses"][0] |= {"restartCount": 1, "lastState": end}
    return made


def preparing(second: int) -> dict[str, Any]:
    """Return a pod whose step of `prepare` failed at this second, and runs again."""
    made = pod("Pending", 1, {"waiting": {"reason": "PodInitializing"}})
    step = {"name": "data", "restartCount": 1, "state": RUNS, "lastState": ended(4, second)}
    made["status"]["initContainerStatuses"] = [step]
    return made


def follower_of(
    pods: Sequence[dict[str, Any]],
    seen: Sequence[dict[str, Any]] = (),
    end: str | None = None,
    later: Sequence[dict[str, Any]] | None = None,
) -> tuple[Follower, Report]:
    """Return the follower of a job with two workers, the first of which completes it, and its report. seen: pods before
    those that are left. end: the condition of the job. later: the pods from the second look on."""
    status = {} if end is None else {"conditions": [{"type": end, "status": "True"}]}
    watched: list[str] = []
    looks = itertools.chain([pods], itertools.repeat(pods if later is None else later))

    class Cluster:
        def get(self, path: str) -> dict[str, Any]:
            return {"items": next(looks)} if path.endswith("/pods") else {**JOB, "status": status}

        def lines(self, path: str) -> Iterator[str]:
            if path.endswith("watch=true") and not watched:
                watched.append(path)
                yield from (json.dumps({"type": "MODIFIED", "object": each}) for each in seen)
            else:
                raise RequestError(None, "the connection is closed")

    workers = tuple(pod("Pending", 0, {}, index) for index in (0, 1))
    first = frozenset({workers[0]["metadata"]["name"]})
    workload = Workload("bert", "rehearsal-bert", workers, ends_with=first)
    report = Report(workload, planned_name, ConsoleDisplay(screen()))
    follower = Follower(cast(Api, Cluster()), JOB, report, workload)
    follower._watch()
    return follower, report


def follow(*cluster: Any, **more: Any) -> tuple[Phase | None, tuple[PodRecord, ...]]:
    """Return the phase of the job of `follower_of`, and the records of its workers."""
    follower, report = follower_of(*cluster, **more)
    return follower.run(0.0), report.records.all()


RUNS: dict[str, Any] = {"running": {}}
BACKS_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}
FAILED, REPLACEMENT = pod("Failed", 1, ended(1, 9)), pod("Running", 10, {"waiting": {}})
EVICTED = pod("Failed", 1, ended(137, 9, ""))
EVICTED["status"] |= {"reason": "Evicted", "message": "usage of scratch exceeds 1Gi"}


@pytest.mark.parametrize(
    ("pods", "phase", "error"),
    [
        ([FAILED], "Failed", "KeyError: 'lr'"),
        ([FAILED, REPLACEMENT], "Running", ""),
        ([REPLACEMENT, FAILED], "Running", ""),
        ([deleted(11, FAILED)], "Failed", "KeyError: 'lr'"),
        ([deleted(9, FAILED)], "Pending", ""),
        ([EVICTED], "Failed", "usage of scratch exceeds 1Gi"),
    ],
)
def test_the_state_of_a_pod(pods: list[dict[str, Any]], phase: str, error: str) -> None:
    _, (_, record) = follow(pods)
    assert (record.phase, record.error) == (phase, error)


COMPLETE = pod("Succeeded", 1, ended(0, 8), 0)
CRASHES = restarted(1, ended(1, 7), BACKS_OFF)
NOT_BACK_OFF = restarted(1, ended(1, 5), ended(1, 7))
NO_USER = "CreateContainerConfigError: image will run as root"
STUCK = pod("Pending", 1, {"waiting": dict(zip(("reason", "message"), NO_USER.split(": "), strict=True))})
LATE = "exit code 1 after the job completed"
HANGS = pod("Running", 1, RUNS, 0)
OVER = {"terminated": {**ended(1, 9)["terminated"], "reason": "OOMKilled"}}
ENDS: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]], tuple[str, str], str]] = {
    "it crashes on while the job completes":
        ("Complete", [COMPLETE, CRASHES], [], ("Succeeded", "Failed"), "exit code 1"),
    "it crashes on, and was deleted before a look":
        ("Complete", [COMPLETE, deleted(8, NOT_BACK_OFF)], [CRASHES], ("Succeeded", "Failed"), "exit code 1"),
    "it crashes when the job is complete":
        ("Complete", [COMPLETE, restarted(1, ended(1, 9), BACKS_OFF)], [], ("Succeeded", "Stopped"), LATE),
    "it fails when the job is complete":
        ("Complete", [COMPLETE, FAILED], [], ("Succeeded", "Stopped"), LATE),
    "its peer is gone in the second of the completion":
        ("Complete", [COMPLETE, pod("Failed", 1, ended(1, 8, RESET))], [], ("Succeeded", "Stopped"), LATE),
    "it fails in the second of the completion":
        ("Complete", [COMPLETE, pod("Failed", 1, ended(1, 8))], [], ("Succeeded", "Failed"), "exit code 1"),
    "it fails before the job is complete":
        ("Complete", [COMPLETE, pod("Failed", 1, ended(1, 7))], [], ("Succeeded", "Failed"), "exit code 1"),
    "it succeeds after a failure that was late":
        ("Complete", [COMPLETE, pod("Succeeded", 10, ended(0, 12))], [FAILED], ("Succeeded", "Succeeded"), ""),
    "a recreated pod fails when the job is complete":
        ("Complete", [COMPLETE, pod("Failed", 5, ended(1, 9)), pod("Failed", 1, ended(1, 4))], [],
         ("Succeeded", "Stopped"), LATE),
    "it cannot start":
        ("Complete", [COMPLETE, STUCK], [], ("Succeeded", "Failed"), NO_USER),
    "the last of two that were restarted":
        ("Failed", [restarted(0, ended(1, 5), RUNS), restarted(1, ended(1, 9, began=6), RUNS)], [],
         ("Stopped", "Failed"), "exit code 1"),
    "a cause before the crash of its peer":
        ("Failed", [restarted(0, ended(1, 9, RESET), BACKS_OFF), restarted(1, ended(1, 8), RUNS)], [],
         ("Stopped", "Failed"), "exit code 1"),
    "both fail at the same time":
        ("Failed", [restarted(0, ended(1, 8), RUNS), restarted(1, ended(1, 9), RUNS)], [],
         ("Failed", "Failed"), "exit code 1"),
    "it fails after a success that is not enough":
        ("Failed", [COMPLETE, FAILED], [], ("Succeeded", "Failed"), "exit code 1"),
    "a step that was restarted":
        ("Failed", [preparing(9)], [], ("Stopped", "Failed"), "data: exit code 4"),
    "it was deleted before a look":
        ("Failed", [], [FAILED], ("Stopped", "Failed"), "exit code 1"),
    "it was recreated before a look":
        ("Failed", [deleted(10, REPLACEMENT)], [FAILED], ("Stopped", "Failed"), "exit code 1"),
    "a cause that was restarted, and the crash of its peer that was not":
        ("Failed", [pod("Failed", 1, ended(1, 9, RESET), 0), restarted(1, ended(1, 8), RUNS)], [],
         ("Failed", "Failed"), "exit code 1"),
    "it was restarted before another one failed":
        ("Failed", [pod("Failed", 6, ended(1, 9, began=6), 0), restarted(1, ended(1, 5), RUNS)], [],
         ("Failed", "Stopped"), "ended with the job"),
    "its peer used up the memory of the node":
        ("Failed", [HANGS, pod("Failed", 1, OVER)], [], ("Stopped", "Failed"), "exit code 1 (OOMKilled)"),
}  # fmt: skip


@pytest.mark.parametrize(("end", "pods", "seen", "phases", "reason"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_job(
    end: str,
    pods: list[dict[str, Any]],
    seen: list[dict[str, Any]],
    phases: tuple[str, str],
    reason: str,
) -> None:
    phase, records = follow(pods, seen, end)
    assert phase == (Phase.SUCCEEDED if end == "Complete" else Phase.FAILED)
    assert tuple(record.phase for record in records) == phases
    assert records[1].reason == reason


@pytest.mark.parametrize("cause", [pod("Failed", 1, ended(1, 8)), STUCK], ids=["raises", "cannot start"])
def test_the_cause_comes_before_its_cascade(cause: dict[str, Any]) -> None:
    follower, report = follower_of([pod("Failed", 1, ended(1, 8, RESET), 0), cause], end="Failed")
    follower.run(0.0)
    assert [line.partition(" failed, ")[0] for line in report.failures(follower.causes())] == [
        "worker-1",
        "worker-0",
    ]


EARLY = pod("Failed", 1, ended(1, 4))


@pytest.mark.parametrize(
    ("end", "pods", "later", "phases"),
    [
        ("Failed", [HANGS, FAILED], [pod("Failed", 1, ended(1, 9), 0), FAILED], ("Stopped", "Failed")),
        ("Complete", [COMPLETE, restarted(1, ended(1, 7), RUNS)], [COMPLETE, CRASHES], ("Succeeded", "Stopped")),
        ("Complete", [HANGS], [COMPLETE], ("Succeeded", "Stopped")),
        ("Complete", [COMPLETE, EARLY], [COMPLETE, pod("Succeeded", 5, ended(0, 7))], ("Succeeded", "Succeeded")),
    ],
    ids=["it fails after the job", "it crashes after the job", "its success is seen late", "so is that of a new pod"],
)
def test_what_pods_do_after_the_end_of_the_job(
    end: str, pods: list[dict[str, Any]], later: list[dict[str, Any]], phases: tuple[str, str]
) -> None:
    _, records = follow(pods, end=end, later=later)
    assert tuple(record.phase for record in records) == phases


def test_a_pod_that_backs_off_when_it_is_seen_first_has_begun() -> None:
    _, (_, record) = follow([CRASHES])
    assert record.began is not None
    assert record.restarts == 1


def test_why_pods_wait_or_a_job_has_ended_without_one() -> None:
    about = {"involvedObject": {"kind": "Workload", "name": "bert"}}
    quota = "couldn't assign flavors to pod set worker: insufficient unused quota"
    events = [
        {**about, "lastTimestamp": time(9), "message": quota},
        {**about, "lastTimestamp": time(4), "message": "not admitted"},
    ]
    late = {"type": "Failed", "status": "True", "message": "it was active longer than specified deadline"}
    running = {"type": "Running", "status": "False", "message": "it is running"}

    class Cluster:
        def get(self, path: str) -> dict[str, Any]:
            return {**JOB, "status": {"conditions": [late, running]}, "items": events if "type=Warning" in path else []}

    workload = Workload("bert", "rehearsal-bert", (pod("Pending", 0, {}),))
    report = Report(workload, planned_name, ConsoleDisplay(screen()))
    follower = Follower(cast(Api, Cluster()), JOB, report, workload)
    assert (follower.warnings(), follower.reason()) == ([f"Workload bert: {quota}"], late["message"])
    report.records.change("bert-worker-1", reason="0/2 nodes are available")
    assert follower.warnings() == []
