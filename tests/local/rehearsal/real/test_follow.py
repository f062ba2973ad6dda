"""Which state of which pod counts; tests/engine/test_real_rehearsals.py follows real ones."""

from __future__ import annotations

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
from trainform.local.sandbox.api import Api

RAISED = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in main\nKeyError: 'lr'\n"
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


def ended(code: int, second: int) -> dict[str, Any]:
    """Return the state of a container, which raised if its exit code is not 0."""
    said = {"reason": "Error", "message": RAISED} if code else {"reason": "Completed"}
    return {"terminated": {"exitCode": code, **said, "startedAt": time(second), "finishedAt": time(second)}}


def deleted(second: int) -> dict[str, Any]:
    """Return the pod that ended at :09, deleted at this second."""
    return pod("Failed", 1, ended(1, 9), deletionTimestamp=time(second + 30), deletionGracePeriodSeconds=30)


def restarted(index: int, second: int, state: dict[str, Any]) -> dict[str, Any]:
    """Return a pod whose container failed at this second, and was restarted."""
    made = pod("Running", 1, state, index)
    made["status"]["containerStatuses"][0] |= {"restartCount": 1, "lastState": ended(1, second)}
    return made


def preparing(second: int) -> dict[str, Any]:
    """Return a pod whose step of `prepare` failed at this second, and runs again."""
    made = pod("Pending", 1, {"waiting": {"reason": "PodInitializing"}})
    step = {"name": "data", "restartCount": 1, "state": RUNS, "lastState": ended(4, second)}
    made["status"]["initContainerStatuses"] = [step]
    return made


def follow(
    pods: Sequence[dict[str, Any]], seen: Sequence[dict[str, Any]] = (), end: str | None = None
) -> tuple[Phase | None, tuple[PodRecord, ...]]:
    """Return the phase of the job and the records of its workers, the first of which completes it. seen: pods before
    those that are left. end: the condition of the job."""
    status = {} if end is None else {"conditions": [{"type": end, "status": "True"}]}

    class Cluster:
        def get(self, path: str) -> dict[str, Any]:
            return {"items": pods} if path.endswith("/pods") else {**JOB, "status": status}

        def lines(self, path: str) -> Iterator[str]:
            if path.endswith("watch=true"):
                yield from (json.dumps({"type": "MODIFIED", "object": each}) for each in seen)

    workers = tuple(pod("Pending", 0, {}, index) for index in (0, 1))
    first = frozenset({workers[0]["metadata"]["name"]})
    workload = Workload("bert", "rehearsal-bert", workers, ends_with=first)
    report = Report(workload, planned_name, ConsoleDisplay(screen()))
    follower = Follower(cast(Api, Cluster()), JOB, report, workload)
    follower._watch()
    return follower.run(0.0), report.records.all()


RUNS: dict[str, Any] = {"running": {}}
FAILED, REPLACEMENT = pod("Failed", 1, ended(1, 9)), pod("Running", 10, {"waiting": {}})


@pytest.mark.parametrize(
    ("pods", "phase", "error"),
    [
        ([FAILED], "Failed", "KeyError: 'lr'"),
        ([FAILED, REPLACEMENT], "Running", ""),
        ([REPLACEMENT, FAILED], "Running", ""),
        ([deleted(11)], "Failed", "KeyError: 'lr'"),
        ([deleted(8)], "Pending", ""),
    ],
)
def test_the_state_of_a_pod(pods: list[dict[str, Any]], phase: str, error: str) -> None:
    _, (_, record) = follow(pods)
    assert (record.phase, record.error) == (phase, error)


COMPLETE = pod("Succeeded", 1, ended(0, 8), 0)
CRASHES, CRASHES_LATER = (restarted(1, second, {"waiting": {"reason": "CrashLoopBackOff"}}) for second in (7, 9))
DELETED_LATER = {**REPLACEMENT, "metadata": {**REPLACEMENT["metadata"], "deletionTimestamp": time(40)}}


@pytest.mark.parametrize(
    ("end", "pods", "seen", "phases", "reason"),
    [
        ("Complete", [COMPLETE, CRASHES], [], ("Succeeded", "Failed"), "exit code 1"),
        ("Complete", [COMPLETE, CRASHES_LATER], [], ("Succeeded", "Stopped"), "ended with the job"),
        ("Complete", [COMPLETE, FAILED], [], ("Succeeded", "Stopped"), "ended with the job"),
        ("Complete", [COMPLETE, pod("Failed", 1, ended(1, 7))], [], ("Succeeded", "Failed"), "exit code 1"),
        ("Failed", [restarted(0, 5, RUNS), restarted(1, 9, RUNS)], [], ("Stopped", "Failed"), "exit code 1"),
        ("Failed", [preparing(9)], [], ("Stopped", "Failed"), "data: exit code 4"),
        ("Failed", [], [FAILED], ("Stopped", "Failed"), "exit code 1"),
        ("Failed", [DELETED_LATER], [FAILED], ("Stopped", "Failed"), "exit code 1"),
        ("Failed", [pod("Failed", 1, ended(1, 9), 0), restarted(1, 5, RUNS)], [], ("Failed", "Stopped"), None),
    ],
    ids=[
        "it crashes on while the job completes",
        "it crashes when the job is complete",
        "it fails when the job is complete",
        "it fails before the job is complete",
        "the last of two that were restarted",
        "a step that was restarted",
        "it was deleted before a look",
        "it was made anew before a look",
        "a pod that was restarted next to one that failed",
    ],
)
def test_the_end_of_a_job(
    end: str,
    pods: list[dict[str, Any]],
    seen: list[dict[str, Any]],
    phases: tuple[str, str],
    reason: str | None,
) -> None:
    phase, records = follow(pods, seen, end)
    assert phase == (Phase.SUCCEEDED if end == "Complete" else Phase.FAILED)
    assert tuple(record.phase for record in records) == phases
    assert reason in (None, records[1].reason)
