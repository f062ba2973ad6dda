"""When a wait ends, with which exit code and reason, and what it shows on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from trainform.cluster.phases import Phase
from trainform.errors import ClusterError
from trainform.running.model import Cause, End, Failure, Fault, JobStatus, Reason
from trainform.running.wait import Change, Clock, Ended, verdict, wait, why

JOB = "resnet-1f3a9c"
ROOM = Reason("nodes full", "waits for 8 a800 held by ai/clip-77aa01", "wait")
LARGE = Reason("never fits", "a pod needs 16 a800, and the largest node has 8", "use 8 a800 in a pod", never=True)
OOM = End(Cause.OOM, Fault.WORKLOAD, 137, "SIGKILL", "", "2026-11-27T14:02:11Z")
RAISED = End(Cause.EXCEPTION, Fault.WORKLOAD, 1, None, "Traceback\n  x\nValueError: loss is nan\n", "")
AWAY = ClusterError("connection refused", "start it")


def status(phase: Phase, **parts: Any) -> JobStatus:
    names = {"stack": "lab/resnet.dev", "experiment": "resnet", "environment": "dev", "namespace": "ai", "job": JOB}
    others = {"revision": "1f3a9c", "backend": "jobset", "admission": "none", "queue": ""}
    return JobStatus(**{"read_at": "2026-11-27T14:02:11Z", **names, **others, "phase": phase, **parts})


QUEUED, LARGER = status(Phase.QUEUED, reasons=(ROOM,)), status(Phase.QUEUED, reasons=(LARGE,))
RUNNING, SUCCEEDED, GONE = status(Phase.RUNNING), status(Phase.SUCCEEDED), status(Phase.GONE)


def failed(fault: Fault | None, end: End = OOM, **parts: Any) -> JobStatus:
    return status(Phase.FAILED, fault=fault, failure=Failure(("worker/3",), (3,), end), **parts)


@pytest.mark.parametrize(
    ("found", "goal", "code", "reason"),
    [
        (QUEUED, "running", None, ""),
        (status(Phase.STARTING), "running", None, ""),
        (RUNNING, "running", 0, f"{JOB} is running"),
        (RUNNING, "succeeded", None, ""),
        (SUCCEEDED, "running", 0, f"{JOB} has succeeded"),
        (SUCCEEDED, "succeeded", 0, f"{JOB} has succeeded"),
        (status(Phase.ENDING), "succeeded", None, ""),
        (status(Phase.RESTARTING), "succeeded", None, ""),
        (status(Phase.SUSPENDED), "running", None, ""),
        (status(Phase.UNKNOWN), "succeeded", None, ""),
        (failed(Fault.WORKLOAD), "succeeded", 4, f"{JOB} has failed: worker/3: oom, exit code 137"),
        (failed(Fault.WORKLOAD), "running", 4, f"{JOB} has failed: worker/3: oom, exit code 137"),
        (status(Phase.FAILED), "succeeded", 4, f"{JOB} has failed"),
        (failed(Fault.PLATFORM), "succeeded", 7, f"{JOB} has failed: worker/3: oom, exit code 137"),
        (failed(Fault.QUEUE), "succeeded", 7, f"{JOB} has failed: worker/3: oom, exit code 137"),
        (failed(Fault.USER), "succeeded", 7, f"{JOB} has failed: worker/3: oom, exit code 137"),
        (LARGER, "running", 5, f"{JOB} never starts: {LARGE.text}"),
        (status(Phase.QUEUED, reasons=(ROOM, LARGE)), "running", 5, f"{JOB} never starts: {LARGE.text}"),
        (status(Phase.GONE, message="it was deleted"), "succeeded", 7, f"{JOB} is gone: it was deleted"),
        (status(Phase.RUNNING, job="resnet-aa01"), "running", 7, f"{JOB} is gone: resnet-aa01 has replaced it"),
    ],
)
def test_the_end_of_a_wait(found: JobStatus, goal: str, code: int | None, reason: str) -> None:
    assert verdict(found, goal, JOB) == (None if code is None else Ended(code, reason))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (RUNNING, ""),
        (status(Phase.QUEUED, message="preempted at 14:02", reasons=(ROOM,)), ROOM.text),
        (status(Phase.QUEUED, message="preempted at 14:02"), "preempted at 14:02"),
        (failed(None, RAISED), "worker/3: exception, exit code 1: ValueError: loss is nan"),
        (
            status(Phase.FAILED, failure=Failure(("worker/3", "worker/5"), (3, 5), RAISED)),
            "worker/3 or worker/5: exception, exit code 1: ValueError: loss is nan",
        ),
    ],
)
def test_the_reason_is_one_line(found: JobStatus, text: str) -> None:
    assert why(found) == text


@dataclasses.dataclass
class Cluster:
    """The result or the error of each read, the last one for ever, and a clock that only moves in pauses."""

    found: list[JobStatus | ClusterError]
    time: float = 0.0
    pauses: list[float] = dataclasses.field(default_factory=list)

    def read(self) -> JobStatus:
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, ClusterError):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


def waited(
    found: Iterable[JobStatus | ClusterError], goal: str = "succeeded", seconds: float | None = None
) -> tuple[Ended, list[Change], list[float]]:
    cluster, shown = Cluster([*found]), list[Change]()
    ended = wait(cluster.read, goal, seconds, shown.append, Clock(lambda: cluster.time, cluster.sleep))
    return ended, shown, cluster.pauses


def test_each_change_is_shown_once() -> None:
    starting = status(Phase.STARTING)
    ended, shown, pauses = waited([QUEUED, QUEUED, QUEUED, starting, RUNNING, RUNNING, SUCCEEDED])
    assert [each.phase for each in shown] == ["queued", "starting", "running", "succeeded"]
    assert shown[0] == Change("2026-11-27T14:02:11Z", JOB, "queued", "nodes full", ROOM.text)
    assert ended.exit_code == 0
    assert pauses == [2.0] * 6


def test_another_reason_is_a_change_and_other_amounts_are_none() -> None:
    other = status(Phase.QUEUED, reasons=(Reason("nodes full", "waits for 4 a800", "wait"),))
    short = status(Phase.QUEUED, reasons=(Reason("gang short", "3 of 4 pods have a node", "wait"),))
    _, shown, _ = waited([QUEUED, other, short, SUCCEEDED])
    assert [each.why for each in shown] == [ROOM.text, "3 of 4 pods have a node", ""]


def test_a_job_that_seems_never_to_fit_is_read_again() -> None:
    ended, shown, pauses = waited([LARGER, QUEUED, LARGER, LARGER])
    assert (ended.exit_code, len(pauses)) == (5, 3)
    assert [each.code for each in shown] == ["never fits", "nodes full", "never fits"]
    assert waited([LARGER, SUCCEEDED])[0].exit_code == 0


def test_the_time_is_up() -> None:
    ended, _, pauses = waited([QUEUED], seconds=5)
    assert ended == Ended(6, f"timed out: {JOB} is queued: {ROOM.text}")
    assert pauses == [2, 2, 1]
    assert waited([SUCCEEDED], seconds=0)[0].exit_code == 0, "it is read once in any case"


def test_the_longer_nothing_happens_the_less_is_read() -> None:
    _, _, pauses = waited([RUNNING], seconds=24 * 3600)
    assert pauses[:20] == [2.0] * 20
    assert max(pauses) == 15
    assert len(pauses) < 6000
    assert pauses == sorted(pauses[:-1]) + pauses[-1:]


def test_an_api_server_that_goes_away() -> None:
    ended, shown, _ = waited([RUNNING, AWAY, AWAY, RUNNING, SUCCEEDED])
    assert [each.phase for each in shown] == ["running", "", "running", "succeeded"]
    assert shown[1].why == "connection refused"
    assert ended.exit_code == 0
    assert waited([RUNNING, AWAY], seconds=60)[0] == Ended(6, f"timed out: {JOB} is running")
    with pytest.raises(ClusterError, match="connection refused"):
        waited([AWAY])


def test_a_new_revision_is_another_job() -> None:
    ended, _, _ = waited([RUNNING, status(Phase.QUEUED, job="resnet-aa01")])
    assert ended == Ended(7, f"{JOB} is gone: resnet-aa01 has replaced it")


def test_a_job_that_is_not_deployed() -> None:
    message = "no `pulumi up` has deployed resnet"
    ended, _, _ = waited([status(Phase.GONE, job="", message=message)])
    assert ended == Ended(7, f"resnet is gone: {message}")
