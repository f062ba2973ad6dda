"""The first failed pod of a job, and why it failed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployed.test_overview import job
from tests.running.failures import FAILURES, LOSS, Labelled, at, failed, others, raised, terminated
from tests.running.jobs import JOB_NAME, container, of_role, snapshot
from tests.support.repository import ROOT
from trainform.running.failure import end_of, failure_of
from trainform.running.model import Cause, Failure, Fault
from trainform.running.status import status_of


def test_the_set_is_whole() -> None:
    assert len(FAILURES) == len({each.name for each in FAILURES}) == 25
    assert {each.cause for each in FAILURES} == {*Cause} - {Cause.TERMINATED}, "which is always a cascade"


@pytest.mark.parametrize("case", [pytest.param(each, id=each.name) for each in FAILURES])
@pytest.mark.parametrize("order", [1, -1])
def test_who_failed_first_why_and_whose_fault(case: Labelled, order: int) -> None:
    found = failure_of(snapshot(case.pods[::order], "Failed"))
    assert found is not None
    assert found.end is not None
    assert (found.pods, found.ranks) == (tuple(f"{JOB_NAME}-worker-{index}" for index in case.first), case.first)
    assert (found.end.cause, found.end.fault, found.cascade) == (case.cause, case.fault, case.cascade)
    assert found.end.signal == case.signal


def test_the_page_explains_each_cause() -> None:
    page = (ROOT / "docs" / "how-to" / "first-failure.md").read_text()
    table = page.partition("## The causes")[2].partition("## ")[0]
    assert re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE) == [*Cause]


def test_the_end_of_a_pod() -> None:
    end = end_of(failed(3, 1, 60, LOSS))
    assert end is not None
    assert (end.exit_code, end.signal, end.at) == (1, None, "2026-11-22T10:01:00Z")
    assert end.message == LOSS.rstrip()
    assert end_of(of_role("worker", 0)) is None
    assert end_of(of_role("worker", 0, "Succeeded", containerStatuses=[container(terminated={"exitCode": 0})])) is None


def test_a_secret_in_a_message_is_masked() -> None:
    token = "hf_" + "aB3dE5fG7hI9jK1lM2nO"
    end = end_of(failed(0, 1, 60, raised(f"HTTPError: 401 for token {token}")))
    assert end is not None
    assert token not in end.message
    assert end.message.startswith("Traceback")


def test_the_cascade_is_folded() -> None:
    found = failure_of(snapshot([failed(3, 1, 60, LOSS), *others(31, 70)]))
    assert found is not None
    assert (found.cascade, found.cascade_seconds) == (31, 40)


def test_an_init_container_that_fails() -> None:
    said = "trainform: https://git.example.com/vision has no commit 1f3a9c\n"
    made = container(terminated=terminated(1, 20, said))
    waits = container(waiting={"reason": "PodInitializing"})
    end = end_of(of_role("worker", 0, "Failed", initContainerStatuses=[made], containerStatuses=[waits]))
    assert end is not None
    assert (end.cause, end.message) == (Cause.EXIT, said.rstrip())


def test_the_attempt_that_ended() -> None:
    """An end of long before belongs to another attempt."""
    old = container(2, last={"terminated": terminated(137, 0, reason="OOMKilled")}, running={})
    old["lastState"]["terminated"]["finishedAt"] = "2026-11-22T03:00:00Z"
    new = container(2, terminated=terminated(1, 60, LOSS))
    pods = [of_role("worker", index, containerStatuses=[each]) for index, each in enumerate((old, new))]
    found = failure_of(snapshot(pods))
    assert found is not None
    assert (found.ranks, found.cascade, found.attempt) == ((1,), 0, 3)


def restarted(**status: Any) -> dict[str, Any]:
    """A job that its operator has restarted once."""
    body = job("bert", "Running")
    body["status"] |= status
    return body


def test_an_attempt_whose_pods_were_deleted() -> None:
    conditions = [
        {"status": "Running", "lastTransitionTime": "2026-11-22T09:05:00Z"},
        {"status": "Restarting", "lastTransitionTime": "2026-11-22T10:02:00Z"},
    ]
    found = failure_of(snapshot([of_role("worker", 0)], job=restarted(retryCount=1, conditions=conditions)))
    assert found == Failure((), (), note="attempt 1: its pods were deleted at 10:02 UTC")
    assert failure_of(snapshot([of_role("worker", 0)])) is None
    assert failure_of(snapshot([], job=job("bert", "Running"))) is None


def test_the_words_of_a_job_whose_pods_are_gone() -> None:
    said = f"jobset failed due to reaching max number of restarts (first failed job: {JOB_NAME}-worker-0)"
    condition = {"type": "Failed", "status": "True", "message": said, "lastTransitionTime": at(120)}
    found = failure_of(snapshot([], job=restarted(restarts=2, conditions=[condition])))
    assert found is not None
    assert (found.attempt, found.note) == (3, f"{said}; attempt 3: its pods were deleted at 10:02 UTC")


def test_the_status_has_the_failure_and_its_fault() -> None:
    found = status_of(
        snapshot([failed(0, 1, 60, LOSS), failed(1, 1, 70, raised("gloo: Connection closed by peer"))], "Failed")
    )
    assert (found.phase, found.fault) == ("failed", Fault.WORKLOAD)
    assert found.failure is not None
    assert found.failure.ranks == (0,)
    assert [pod.end.cause for pod in found.pods if pod.end] == [Cause.EXCEPTION, Cause.COMMUNICATION]
