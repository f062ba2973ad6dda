"""`trainform wait`: its exit codes, and what it prints on the way."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.cli.running import run
from tests.cli.test_status import objects, project
from tests.deployed.test_overview import job, of_job, recorded
from tests.support.api_objects import ApiObjects
from trainform.cli import wait
from trainform.cli.status_text import headline
from trainform.cli.wait import Goal, exit_code, keep_cause
from trainform.cluster.phases import Phase, PodState
from trainform.running.model import Cause, End, Failure, Fault, JobStatus, PodStatus, Reason

__all__ = ["objects", "project"]
JOB = "resnet-1f3a9c"
ROOM = Reason("nodes-full", "8 of 16 a800 are free.", "wait")
LARGE = Reason("never-fits", "A pod needs 16 a800, and the largest node has 8.", "use fewer", never=True)
OOM = End(Cause.OOM, Fault.WORKLOAD, 137, "SIGKILL", "", "2026-11-27T14:02:11Z")
RAISED = End(
    Cause.EXCEPTION, Fault.WORKLOAD, 1, None, "Traceback\n  x\nValueError: loss is nan", "2026-11-27T14:00:00Z"
)


def status(phase: Phase, **parts: Any) -> JobStatus:
    names = {"stack": "lab/resnet.dev", "experiment": "resnet", "environment": "dev", "namespace": "ai", "job": JOB}
    others = {"revision": "1f3a9c", "backend": "jobset", "admission": "none", "queue": ""}
    return JobStatus(**{"read_at": "2026-11-27T14:02:11Z", **names, **others, "phase": phase, **parts})


@pytest.mark.parametrize(
    ("found", "goal", "code"),
    [
        (status(Phase.QUEUED, reasons=(ROOM,)), "running", None),
        (status(Phase.STARTING), "running", None),
        (status(Phase.RUNNING), "running", 0),
        (status(Phase.RUNNING), "succeeded", None),
        (status(Phase.SUCCEEDED), "running", 0),
        (status(Phase.SUCCEEDED), "succeeded", 0),
        (status(Phase.ENDING), "succeeded", None),
        (status(Phase.RESTARTING), "succeeded", None),
        (status(Phase.SUSPENDED), "running", None),
        (status(Phase.UNKNOWN), "succeeded", None),
        (status(Phase.FAILED, fault=Fault.WORKLOAD), "succeeded", 4),
        (status(Phase.FAILED, fault=Fault.WORKLOAD), "running", 4),
        (status(Phase.FAILED), "succeeded", 7),
        (status(Phase.FAILED, fault=Fault.PLATFORM), "succeeded", 7),
        (status(Phase.FAILED, fault=Fault.QUEUE), "succeeded", 7),
        (status(Phase.FAILED, fault=Fault.USER), "succeeded", 4),
        (status(Phase.QUEUED, reasons=(LARGE, ROOM)), "running", 5),
        (status(Phase.GONE), "succeeded", 7),
        (status(Phase.RUNNING, job="resnet-aa01"), "running", 7),  # a new revision is another job
    ],
)
def test_the_exit_code(found: JobStatus, goal: Goal, code: int | None) -> None:
    assert exit_code(found, goal, JOB) == code


def test_a_job_that_has_run_may_fit_again() -> None:
    """A node of it is gone, or its device plugin starts again."""
    assert exit_code(status(Phase.STARTING, reasons=(LARGE,)), "succeeded", JOB, begun=True) is None


def failed(phase: Phase, state: PodState = PodState.FAILED, end: End = RAISED) -> JobStatus:
    """A job of which one pod has an end."""
    pod = PodStatus("worker-1", "worker", 1, 1, "node-1", state, "", 0, "", "", end=end)
    return status(phase, failure=Failure(("worker-1",), (1,), end), pods=(pod,))


LONG_AGO = structs.replace(RAISED, at="2026-11-27T13:50:00Z")
CLOSED = End(Cause.COMMUNICATION, None, 1, None, "RuntimeError: Connection closed by peer", "")
LOST = status(Phase.FAILED, failure=Failure((), (), note="pods were deleted (Terminated at 14:02 UTC)"))


@pytest.mark.parametrize(
    ("before", "last", "fault", "end"),
    [
        ([failed(Phase.ENDING)], failed(Phase.FAILED, end=CLOSED), Fault.WORKLOAD, RAISED),
        ([failed(Phase.RESTARTING, PodState.RESTARTING), status(Phase.ENDING)], LOST, Fault.WORKLOAD, RAISED),
        ([failed(Phase.ENDING, end=CLOSED)], LOST, None, None),
        ([failed(Phase.ENDING), status(Phase.RUNNING)], LOST, Fault.WORKLOAD, RAISED),  # it ended at its restart
        ([failed(Phase.ENDING, end=LONG_AGO)], LOST, None, None),
        ([failed(Phase.ENDING, PodState.ENDING)], LOST, None, None),  # it ran again after this end
    ],
)
def test_the_cause_that_was_seen_before_its_pod_was_deleted(
    before: list[JobStatus], last: JobStatus, fault: Fault | None, end: End | None
) -> None:
    seen = None
    for found in [*before, last]:
        given, seen = keep_cause(found, seen)
    assert given.failure is not None
    assert (given.fault, given.failure.end) == (fault, end)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (status(Phase.RUNNING), ""),
        (status(Phase.QUEUED, message="preempted at 14:02", reasons=(ROOM,)), ROOM.text),
        (status(Phase.QUEUED, message="preempted at 14:02"), "Preempted at 14:02."),
        (
            status(Phase.FAILED, failure=Failure(("worker/3",), (3,), OOM)),
            "Rank 3: oom (exit code 137, signal SIGKILL), fault: workload.",
        ),
        (
            status(Phase.FAILED, failure=Failure(("worker/3", "worker/5"), (3, 5), RAISED)),
            "Rank 3 or 5: exception (exit code 1), fault: workload. ValueError: loss is nan",
        ),
        (
            status(Phase.FAILED, failure=Failure(("worker/1",), (1,), structs.replace(CLOSED, container="data"))),
            "Rank 1: communication in data (exit code 1), fault: unknown. RuntimeError: Connection closed by peer",
        ),
        (LOST, "Pods were deleted (Terminated at 14:02 UTC)."),
    ],
)
def test_the_reason_is_one_line(found: JobStatus, text: str) -> None:
    assert headline(found) == text


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "REFRESH", 0.2)  # this server has no watches


def test_each_change_is_a_line(project: Path, objects: ApiObjects) -> None:
    name, ended = job("bert")["metadata"]["name"], [recorded("bert"), job("bert", "Completed")]
    objects.bodies = [recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1)]

    def end() -> None:
        while not any("podgroups" in path for path in objects.asked):  # the last read of the first status
            time.sleep(0.01)
        objects.bodies = ended

    with ThreadPoolExecutor() as threads:
        threads.submit(end)
        code, out, err = run("wait", "bert.dev")
    assert (code, err) == (0, "")
    lines = [line.split(" ", 1)[1] for line in out.splitlines()]
    assert (lines[0], lines[-1]) == (f"{name} running", f"{name} succeeded")
    assert len(lines) == len({*lines})


def test_the_time_is_up(project: Path) -> None:
    code, out, _ = run("wait", "bert.dev", "--timeout", "2s")
    assert (code, out.splitlines()[-1]) == (6, "timed out")
    assert run("wait", "bert.dev", "--for", "running", "--timeout", "1m")[0] == 0


def test_a_job_that_is_not_deployed(project: Path) -> None:
    code, out, _ = run("wait", "mnist", "-e", "prod")
    assert (code, out.split(" ", 1)[1]) == (7, "mnist gone: It is not deployed; `pulumi up` deploys it.\n")


@pytest.mark.parametrize("pods", [[], [of_job("bert", 0, "Failed"), of_job("bert", 1, "Succeeded")]])
def test_a_job_that_may_not_be_read_and_whose_pods_have_ended(pods: Any, project: Path, objects: ApiObjects) -> None:
    objects.bodies, objects.forbidden = [recorded("bert"), *pods], frozenset({"jobs", "podgroups"})
    code, out, err = run("wait", "bert.dev")
    assert (code, "no permission to read the job" in err) == (1, True), err
    assert out.split(" ", 2)[2].startswith("unknown: ")
